"use strict";
document.querySelectorAll("table.sortable").forEach(function (table) {
  var body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    button.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") === "descending";
      table.querySelectorAll("thead th").forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var key = function (row) { return row.cells[column].getAttribute("data-v"); };
      Array.from(body.rows).map(function (row, at) { return [row, key(row), at]; })
        .sort(function (a, b) {
          var order = a[1] === null || b[1] === null
            ? a[0].cells[column].textContent.localeCompare(b[0].cells[column].textContent)
            : a[1] - b[1];
          return (up ? order : -order) || a[2] - b[2];
        })
        .forEach(function (item) { body.appendChild(item[0]); });
    });
  });
});
