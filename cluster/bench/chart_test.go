package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "draw the chart of the documentation again")

// pages is the folder of the chart and of the page that shows it.
var pages = filepath.Join("..", "..", "docs", "explanation")

// TestChart shows that the chart of the documentation is that of its figures, and so is the table beside it.
func TestChart(t *testing.T) {
	t.Parallel()
	svg := filepath.Join(pages, "figures.svg")
	all, err := readFigures(svg)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(svg, []byte(draw(all)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(draw(all), text(t, svg)); diff != "" {
		t.Errorf("%s: run this test with -update: -want, +got:\n%s", svg, diff)
	}
	rows := []string{
		"| Objects on one target |", "| memory in steady state |", "| new Object Ready, median |",
		"| restart, until a new Object is Ready |",
	}
	for _, f := range all {
		if f.Program == ours {
			thousands := fmt.Sprintf(" %d,%03d |", f.Objects/1000, f.Objects%1000)
			for i, cell := range []string{
				thousands, fmt.Sprintf(" %g MB |", f.MemoryMB), fmt.Sprintf(" %g ms |", f.ReadyMS),
				fmt.Sprintf(" %g s |", f.RestartS),
			} {
				rows[i] += cell
			}
		}
	}
	page := text(t, filepath.Join(pages, "comparison.md"))
	for _, row := range rows {
		if !strings.Contains(page, "\n"+row+"\n") {
			t.Errorf("comparison.md: want row %s", row)
		}
	}
}

// TestRecord shows that a run replaces the figure of as many Objects and no other, and that the chart follows.
func TestRecord(t *testing.T) {
	t.Parallel()
	svg := filepath.Join(t.TempDir(), "figures.svg")
	content := text(t, filepath.Join(pages, "figures.json"))
	if err := os.WriteFile(figuresOf(svg), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := readFigures(svg)
	if err != nil {
		t.Fatal(err)
	}
	if err := record(svg, figure{Program: ours, Objects: 7}); err == nil {
		t.Error("want no figure of a run that the chart does not have")
	}
	f := before[1]
	f.MemoryMB += 42
	if err := record(svg, f); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(before)
	want[1] = f
	after, err := readFigures(svg)
	if diff := cmp.Diff(want, after); err != nil || diff != "" {
		t.Errorf("figures: %v: -want, +got:\n%s", err, diff)
	}
	if got := text(t, svg); got != draw(want) || got == draw(before) {
		t.Errorf("chart: want that of the new figures, got %s", got)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
