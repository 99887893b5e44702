# Copyright (c) 2026, the llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The look of a page of reports: screen, phone, paper, light and dark. Private to the collection.

Each kind of memory has one colour and always its name beside it. Text on a colour keeps a contrast
of 4.5 to 1.
"""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --ink: #18202c; --quiet: #566173; --line: #d5dbe4; --panel: #f5f7fa;
  --link: #0a58ca; --good: #0f6b46; --warn: #8a4b00; --bad: #b02030;
  --weights: #56657c; --kv: #1f5fbf; --draft: #7a49b8; --graphs: #9a5b13; --used: #56657c;
  --programs: #56657c; --pinned: #0b766b; --cache: #c3dcb4; --reserve: #e8c14f;
  --free: #e4e9f0; --rest: #e4e9f0; --left: #e4e9f0;
  --on-dark: #ffffff; --on-light: #18202c; --on-free: #18202c; --hatch: #ffffff;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #12161d; --ink: #e6eaf0; --quiet: #a3aebd; --line: #323b48; --panel: #1a2029;
    --link: #7fb2ff; --good: #5fd0a0; --warn: #f0b35a; --bad: #ff8d94;
    --weights: #66768f; --kv: #3272d6; --draft: #8a5bc9; --graphs: #a5651c; --used: #66768f;
    --programs: #66768f; --pinned: #12806f; --cache: #a9cb98; --reserve: #e0b53c;
    --free: #2c3542; --rest: #2c3542; --left: #2c3542; --on-free: #e6eaf0; --hatch: #12161d;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem;
  background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.35rem; line-height: 1.2; margin: 0; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; }
a { color: var(--link); }
.quiet, small { color: var(--quiet); font-size: .875rem; }
section { border-top: 2px solid var(--ink); margin-top: 2.5rem; padding-top: 1rem; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: .75rem;
  margin: 1rem 0; }
.answers div { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem;
  padding: .75rem; }
.answers dt { color: var(--quiet); font-size: .875rem; }
.answers dd { margin: 0; }
.answers .value { font-size: 1.35rem; font-weight: 650; line-height: 1.3; }
figure { margin: 0; break-inside: avoid; }
.bar { display: grid; grid-template-columns: 4.5rem 1fr; gap: .25rem .5rem; align-items: center;
  margin: .25rem 0; }
.bar svg { display: block; width: 100%; height: 1.5rem; }
.bar span { font-size: .875rem; }
svg text { font-size: .75rem; fill: var(--on-dark); text-anchor: middle;
  dominant-baseline: central; }
svg .edge { fill: none; stroke: var(--line); }
.cache text, .reserve text { fill: var(--on-light); }
.free text, .rest text, .left text { fill: var(--on-free); }
.weights rect { fill: var(--weights); } .kv rect { fill: var(--kv); }
.draft rect { fill: var(--draft); } .graphs rect { fill: var(--graphs); }
.used rect { fill: var(--used); } .programs rect { fill: var(--programs); }
.pinned rect { fill: var(--pinned); } .cache rect { fill: var(--cache); }
.reserve rect { fill: var(--reserve); } .free rect { fill: var(--free); }
.rest rect { fill: var(--rest); } .left rect { fill: var(--left); }
rect.hatch { fill: url(#hatch); }
#hatch path { stroke: var(--hatch); stroke-width: 1.5; opacity: .28; }
.key { font-size: .875rem; }
.key span { display: inline-block; margin-right: 1.25rem; }
.swatch { width: .9rem; height: .9rem; vertical-align: -.1rem; margin-right: .4rem; }
table { border-collapse: collapse; width: 100%; font-size: .9375rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: left;
  overflow-wrap: normal; vertical-align: top; }
thead th { color: var(--quiet); font-size: .875rem; font-weight: 600; }
tbody th { font-weight: 400; }
.number { text-align: right; white-space: nowrap; }
.stacks tbody th { min-width: 7rem; overflow-wrap: anywhere; }
.stacks td { min-width: 4rem; overflow-wrap: anywhere; }
.stacks .amount { white-space: nowrap; }
.changed { font-weight: 650; }
.certain { color: var(--good); } .likely { color: var(--warn); } .no { color: var(--bad); }
.dim { color: var(--quiet); }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .375rem;
  font: .8125rem/1.5 ui-monospace, Menlo, Consolas, "Liberation Mono", monospace;
  margin: .25rem 0 0; padding: .35rem .5rem; overflow-wrap: anywhere; white-space: pre-wrap;
  user-select: all; }
details { font-size: .875rem; margin-top: .25rem; }
summary { cursor: pointer; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
.finding { border-left: .25rem solid var(--line); margin: .75rem 0; padding-left: .75rem;
  break-inside: avoid; }
.refuse { border-color: var(--bad); } .warn { border-color: var(--warn); }
.refuse b { color: var(--bad); } .warn b { color: var(--warn); }
.failure { color: var(--bad); white-space: pre-wrap; }
footer { margin-top: 3rem; }
@media (max-width: 40rem) {
  .bar { grid-template-columns: 3.75rem 1fr; }
  svg text { font-size: .6875rem; }
  th, td { padding: .3rem .25rem; }
  table { font-size: .875rem; }
  .stacks thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden; }
  .stacks tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .stacks th, .stacks td { display: block; border: 0; padding: .1rem 0; text-align: left;
    white-space: normal; }
  .stacks td[data-label]::before { color: var(--quiet); content: attr(data-label) " ";
    font-size: .875rem; }
  .answers { grid-template-columns: 1fr 1fr; }
}
@media print {
  body { font-size: 10pt; max-width: none; padding: 0; print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
  .answers { grid-template-columns: repeat(4, 1fr); }
  h2, h3 { break-after: avoid; }
  tr, pre { break-inside: avoid; }
  a { color: inherit; text-decoration: none; }
}
"""
