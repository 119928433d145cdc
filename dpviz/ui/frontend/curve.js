// Hands curves to the sliders, which are other components: see takeCurve in live_slider.js.
export default function render({ data: [curves] }) {
  window.dpvizCurves = curves;
  window.dispatchEvent(new Event("dpviz:curves"));
}
