// Lets the browser fetch plotly.js while the server is still importing.
export default ({ data }) => {
  if (document.querySelector(`link[href="${data}"]`)) return;
  const link = document.createElement("link");
  Object.assign(link, { rel: "preload", as: "script", href: data });
  document.head.appendChild(link);
};
