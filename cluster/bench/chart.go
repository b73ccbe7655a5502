package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// chartPath is where the chart is. Beside it, with the extension .json, are the figures that it shows.
var chartPath = flag.String("chart", "docs/explanation/figures.svg",
	"chart to draw again if its figures have a run of as many Objects; empty for none")

// Names of the programs in the figures.
const (
	ours = "provider-kcp"
	peer = "provider-kubernetes 1.4.1"
)

// A figure is what was measured with a number of Objects. What was not measured is 0.
type figure struct {
	Program  string  `json:"program"`
	Objects  int     `json:"objects"`
	MemoryMB float64 `json:"memoryMB"` // in steady state; the peak of a peer
	ReadyMS  float64 `json:"readyMS,omitempty"`
	RestartS float64 `json:"restartS,omitempty"`
}

// drawChart records what was measured, and draws the chart. It does not fail, as the report is worth more.
func (b *objectsBench) drawChart(context.Context) error {
	if *chartPath == "" || b.options.poll > 0 {
		return nil
	}
	program, memory := ours, b.got.rest.rss
	if filepath.Base(b.options.provider) != "provider" {
		program, memory = peer, max(b.got.create.peak, b.got.again.peak)
	}
	err := record(*chartPath, figure{
		Program: program, Objects: b.got.n, MemoryMB: math.Round(float64(memory) / mega),
		ReadyMS:  math.Round(float64(b.got.pickup.quantile(median)) / float64(time.Millisecond)),
		RestartS: math.Round(b.got.again.ready.Seconds()*10) / 10,
	})
	if err != nil {
		progressf("the chart stays as it is: %v", err)
	}
	return nil
}

// record replaces the figure of as many Objects, and draws the chart again.
func record(svg string, f figure) error {
	all, err := readFigures(svg)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(o figure) bool { return o.Program == f.Program && o.Objects == f.Objects })
	if i < 0 {
		return errors.Errorf("it has no run of %s with %d Objects", f.Program, f.Objects)
	}
	all[i] = f
	content, err := json.MarshalIndent(all, "", "  ")
	for path, text := range map[string]string{figuresOf(svg): string(content) + "\n", svg: draw(all)} {
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
	}
	return errors.Wrap(err, "cannot write figures")
}

func figuresOf(svg string) string { return strings.TrimSuffix(svg, filepath.Ext(svg)) + ".json" }

// readFigures reads the figures of a chart.
func readFigures(svg string) (all []figure, err error) {
	b, err := os.ReadFile(filepath.Clean(figuresOf(svg)))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, errors.Wrap(err, "cannot read figures")
}

// panels are what the chart shows, from left to right.
var panels = []struct {
	title string
	of    func(figure) float64
}{
	{"memory in steady state, MB", func(f figure) float64 { return f.MemoryMB }},
	{"new Object Ready, median, ms", func(f figure) float64 { return f.ReadyMS }},
	{"restart to new Object Ready, s", func(f figure) float64 { return f.RestartS }},
}

// Sizes of the panels and where their axes are, in pixels.
const panelWidth, plotWidth, plotHeight, left, bottom = 270, 190, 130, 40, 210

const chartHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 810 270" role="img">
<title>Memory, creation and restart by number of Objects</title>
<style>
  text { fill: #1f2328; font: 12px sans-serif } path { stroke: #8c959f }
  .own { fill: #0969da } .peer { fill: #bc4c00 } polyline { fill: none; stroke: #0969da; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .own { fill: #4493f8 } polyline { stroke: #4493f8 } .peer { fill: #f0883e }
  }
</style>
<circle class="own" cx="40" cy="16" r="4"/><text x="50" y="20">` + ours + `</text>
<rect class="peer" x="166" y="12" width="8" height="8"/><text x="180" y="20">` + peer + `, peak</text>
<text x="405" y="256" text-anchor="middle">Objects on one target</text>
`

// draw draws the chart: a panel for each thing that was measured.
func draw(all []figure) string {
	var b strings.Builder
	b.WriteString(chartHead)
	for i, p := range panels {
		_, _ = fmt.Fprintf(&b, "<g transform=\"translate(%d 0)\">\n<text x=\"%d\" y=\"46\">%s</text>\n"+
			"<path d=\"M%d %dh%d\"/>\n%s</g>\n", i*panelWidth, left, p.title, left-10, bottom, plotWidth+20, points(all, p.of))
	}
	return b.String() + "</svg>\n"
}

// points draws what was measured of one thing by the number of Objects, whose axis is logarithmic.
func points(all []figure, of func(figure) float64) string {
	byObjects := func(a, b figure) int { return cmp.Compare(a.Objects, b.Objects) }
	least, most := slices.MinFunc(all, byObjects).Objects, slices.MaxFunc(all, byObjects).Objects
	highest := of(slices.MaxFunc(all, func(a, b figure) int { return cmp.Compare(of(a), of(b)) }))
	var b, line strings.Builder
	for _, f := range all {
		x := left + plotWidth*math.Log(float64(f.Objects)/float64(least))/math.Log(float64(most)/float64(least))
		y := bottom - plotHeight*of(f)/highest
		mark := fmt.Sprintf("<rect class=\"peer\" x=\"%.0f\" y=\"%.0f\" width=\"8\" height=\"8\"/>", x-4, y-4)
		if f.Program == ours {
			mark = fmt.Sprintf("<circle class=\"own\" cx=\"%.0f\" cy=\"%.0f\" r=\"4\"/>", x, y)
			_, _ = fmt.Fprintf(&line, " %.0f,%.0f", x, y)
		}
		_, _ = fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x, bottom+18, f.Objects)
		if of(f) > 0 {
			_, _ = fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%g</text>%s\n", x-6, y-6, of(f), mark)
		}
	}
	return b.String() + "<polyline points=\"" + strings.TrimSpace(line.String()) + "\"/>\n"
}
