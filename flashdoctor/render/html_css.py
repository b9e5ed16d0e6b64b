"""The style sheet of a report: light and dark, 320 px and up, on screen and on paper."""

from __future__ import annotations

STYLE_SHEET = """
:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #ffffff; --inset: #f0f2f5; --line: #d0d5dc; --text: #1b1f24;
  --quiet: #535c67; --link: #0a4fb3; --error: #b3261e; --warning: #855000; --good: #17652f;
  --info: #0a4fb3; --none: #535c67; --onto: #ffffff; --bar: #3b73c4;
  --part-1: #2f6fc4; --part-2: #c8620a; --part-3: #6b7480; --part-4: #8a3fa8; --part-5: #1f8a4c;
  --part-6: #b3261e; --part-7: #dfe3e8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --inset: #262b33; --line: #3a414b; --text: #e8eaed;
    --quiet: #aab2bc; --link: #8ab8ff; --error: #ff8f85; --warning: #f2bd63; --good: #7fd894;
    --info: #8ab8ff; --none: #aab2bc; --onto: #14171b; --bar: #6f9fe8;
    --part-1: #6f9fe8; --part-2: #f2a15f; --part-3: #8d97a3; --part-4: #cf9be8; --part-5: #5fc585;
    --part-6: #ff8f85; --part-7: #333a44;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: .9em; }
h1, h2, h3, h4, p, ol, ul { margin: 0; }
h1 { font-size: 1.35rem; line-height: 1.35; }
h2 { font-size: 1.1rem; margin-bottom: .6rem; }
h3 { font-size: 1.05rem; line-height: 1.4; }
h4 { font-size: .85rem; color: var(--quiet); margin-top: .9rem; }
h1, h3, p, td, th, li, code, summary { overflow-wrap: anywhere; unicode-bidi: isolate; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap;
}
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .4rem .8rem; z-index: 2; }
.quiet { color: var(--quiet); font-size: .875rem; }

header, main, footer { max-width: 84rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 1.25rem; }
.verdict {
  display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; padding: 1rem;
  background: var(--card); border: 1px solid var(--line); border-left: .5rem solid var(--tone);
  border-radius: .5rem;
}
.verdict h1 { flex: 1 1 16rem; }
.verdict .quiet { flex-basis: 100%; }
.badge {
  background: var(--tone); color: var(--onto); font-weight: 700; letter-spacing: .04em;
  border-radius: .3rem; padding: .1rem .6rem; white-space: nowrap; font-size: 1rem;
}
.error { --tone: var(--error); } .warning { --tone: var(--warning); }
.good { --tone: var(--good); } .info { --tone: var(--info); } .none { --tone: var(--none); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; padding: .75rem 0; list-style: none; }
nav a { display: inline-block; padding: .15rem 0; }

main { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1rem; }
section {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem;
  min-width: 0;
}
@media (min-width: 62rem) {
  main.two { grid-template-columns: minmax(0, 5fr) minmax(0, 3fr); align-items: start; }
  main.two > .drawing { grid-column: 2; }
  main.two.long > .drawing { grid-row: 1 / span 2; }
  main.two > .wide { grid-column: 1 / -1; }
}

article { border-top: 1px solid var(--line); padding-top: 1rem; margin-top: 1.25rem; }
section > p + article, section > ul + article { margin-top: .75rem; }
section > * + h3, section > p + ul { margin-top: .9rem; }
section > h3 + ul { margin-top: .35rem; }
article:first-of-type { border-top: 0; padding-top: 0; }
h2 + article { margin-top: 0; }
article:target h3 { text-decoration: underline; text-underline-offset: .2em; }
.kicker { color: var(--tone); font-weight: 700; font-size: .875rem; }
article > p + p, article > h3 + p { margin-top: .35rem; }
.command {
  display: flex; flex-wrap: wrap; gap: .5rem; align-items: start; margin-top: .4rem;
  padding: .5rem .6rem; background: var(--inset); border-radius: .3rem;
}
.command + .quiet { margin-top: .25rem; }
.command code { flex: 1 1 18rem; white-space: pre-wrap; padding: .15rem 0; min-width: 0; }
button {
  font: inherit; font-size: .875rem; color: var(--text); background: var(--card); cursor: pointer;
  border: 1px solid var(--quiet); border-radius: .3rem; padding: .15rem .6rem; min-width: 4.9rem;
}
button:hover { border-color: var(--link); color: var(--link); }
.plain { padding-left: 1.2rem; }
.plain li + li { margin-top: .25rem; }

table { width: 100%; border-collapse: collapse; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem .4rem 0; }
th { font-weight: 600; }
thead th { color: var(--quiet); font-size: .875rem; border-bottom: 2px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody th { font-size: .9375rem; }
td .quiet, th .quiet { display: block; font-weight: 400; }
th:first-child { width: 42%; }
@media (min-width: 40rem) { th:first-child { width: 36%; } }
th code.quiet { font-size: .75rem; }
.command button { margin-left: auto; }

.stack { list-style: none; padding: 0; }
.layer {
  display: grid; grid-template-columns: 1.2rem 7.6rem minmax(0, 1fr); gap: .3rem;
  padding: .55rem .7rem; border: 1px solid var(--line); border-left: .35rem solid var(--tone);
  border-radius: .3rem; background: var(--inset); margin-top: .3rem;
}
.layer .mark { color: var(--tone); font-weight: 700; }
.layer .name { font-weight: 600; }
.layer.none { border-style: dashed; background: none; color: var(--quiet); }
.joint { color: var(--tone); padding: .3rem 0 .05rem; font-size: .9375rem; }
.joint svg { display: block; width: 100%; height: .8rem; }
.joint path { fill: none; stroke: currentColor; stroke-width: 2; vector-effect: non-scaling-stroke;}
.joint p { padding: .1rem .7rem .1rem; }
.inner { padding: .2rem 0 0 1.75rem; }
.inner p { padding: 0; }

.bar { display: block; width: 100%; height: .7rem; margin: .35rem 0 .15rem; }
.bar rect { fill: var(--bar); }
.bar.memory rect { fill: var(--quiet); }
.bars { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1.5rem; }
@media (min-width: 48rem) { .bars.two { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
.tone { color: var(--tone); }

.chart { display: block; width: 100%; height: 2.5rem; margin: .25rem 0 .75rem; }
.chart path { fill: none; stroke: var(--text); stroke-width: 2; vector-effect: non-scaling-stroke; }
.swatch { width: .8rem; height: .8rem; margin-right: .45rem; vertical-align: -.05rem; }
.part-1 { fill: var(--part-1); } .part-2 { fill: var(--part-2); } .part-3 { fill: var(--part-3); }
.part-4 { fill: var(--part-4); } .part-5 { fill: var(--part-5); } .part-6 { fill: var(--part-6); }
.part-7 { fill: var(--part-7); }
.chart rect { stroke: var(--card); stroke-width: .75; vector-effect: non-scaling-stroke; }
table.sizes td { text-align: right; font-variant-numeric: tabular-nums; }
table.sizes thead th + th { text-align: right; font-size: .8125rem; overflow-wrap: normal; }
table.four th:first-child { width: 31%; }
details + details { margin-top: .5rem; }
section > h3, section > details { margin-top: 1rem; }
table + p { margin-top: .7rem; }

.filter { display: flex; flex-wrap: wrap; gap: .4rem .75rem; align-items: center; }
.filter { margin-bottom: .75rem; }
.filter label { font-weight: 600; }
.filter input {
  flex: 1 1 12rem; max-width: 28rem; font: inherit; color: var(--text); background: var(--page);
  border: 1px solid var(--quiet); border-radius: .3rem; padding: .3rem .6rem; min-width: 0;
}
.pair { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 1.5rem; }
@media (min-width: 62rem) {
  .pair { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); }
  #facts th:first-child, #skipped th:first-child { width: 26%; }
}
summary { cursor: pointer; font-weight: 600; }
summary h2, summary h3 { display: inline; }
details ul, details table { margin-top: .6rem; }
.columns { columns: 17rem; padding-left: 1.2rem; }
footer { padding-top: 1rem; padding-bottom: 2rem; }

@media print {
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --inset: #fff; --line: #999; --text: #000; --quiet: #444;
    --link: #000; --error: #8f1c16; --warning: #6b4000; --good: #0f4a22; --info: #000;
    --none: #444; --onto: #fff; --bar: #555;
  }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  main, main.two { display: block; }
  section { border: 0; padding: .6rem 0; }
  nav, button, .filter, .skip { display: none !important; }
  tr, .layer, .joint, .command { break-inside: avoid; }
  h2, h3, h4 { break-after: avoid; }
  .bar rect, .chart rect, .swatch rect, .badge {
    print-color-adjust: exact; -webkit-print-color-adjust: exact;
  }
  details::details-content { content-visibility: visible; }
}
@media (forced-colors: active) {
  .bar rect, .chart rect, .swatch rect { fill: CanvasText; stroke: Canvas; }
  .badge { border: 1px solid; }
}
"""
