package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// wantRatio is how many times as long as the floor a provider may take.
const wantRatio = 2.0

const (
	median = 0.5
	p99    = 0.99
	mega   = 1 << 20
)

// A table is the report on its way to a writer.
type table struct{ w io.Writer }

// printReport writes the report of a part.
func printReport(w io.Writer, title string, rows func(table)) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	t := table{w: tw}
	t.row(strings.ToUpper(title), "", "", "")
	rows(t)
	return errors.Wrap(tw.Flush(), "cannot print results")
}

// floor prints a floor and what took its time beside it.
func (t table) floor(floors [2]floored, n int, took time.Duration) {
	mean := meanOf(floors)
	slow, fast := max(floors[0].wall, floors[1].wall), min(floors[0].wall, floors[1].wall)
	t.row("floor, wall time", fmt.Sprintf("%s (%s before, %s after)", seconds(mean.wall), seconds(floors[0].wall),
		seconds(floors[1].wall)), "", "")
	t.row("floor, per second", rate(n, mean.wall), "", "")
	t.row("provider, wall time", seconds(took), "", "")
	t.row("provider, per second", rate(n, took), "", "")
	t.atMost("wall time over the floor's", took.Seconds()/mean.wall.Seconds(), wantRatio)
	t.row("  over the slower and the faster floor",
		fmt.Sprintf("%.2f and %.2f", took.Seconds()/slow.Seconds(), took.Seconds()/fast.Seconds()), "", "")
}

// usage prints processor times beside those of the floor.
func (t table) usage(floors [2]floored, used usage) {
	mean := meanOf(floors)
	t.row("floor, CPU", mean.cpu.String(), "", "")
	t.row("provider, CPU", used.String(), "", "")
	t.row("CPU over the floor's", fmt.Sprintf("%.2f", used.sum().Seconds()/mean.cpu.sum().Seconds()), "", "")
}

// requests prints requests for each of several objects.
func (t table) requests(prefix string, asked tally, n int) {
	for _, what := range asked.most() {
		t.row(prefix+what, fmt.Sprintf("%.3f (%d)", float64(asked[what])/float64(n), asked[what]), "", "")
	}
}

// tally prints how often something was asked.
func (t table) tally(prefix string, asked tally) {
	for _, what := range asked.most() {
		t.row(prefix+what, strconv.Itoa(asked[what]), "", "")
	}
}

// rest prints a while in which nothing happens.
func (t table) rest(r rested) {
	t.head(fmt.Sprintf("REST OF %s", r.lasted))
	t.tally("", r.requests)
	t.none("requests beside watches and leases", r.requests.sum())
	t.row("CPU", seconds(r.cpu), "", "")
	t.row("RSS, MB", fmt.Sprintf("%.0f", float64(r.rss)/mega), "", "")
}

// restart prints what a start with everything standing has asked, beside what is about the new object.
func (t table) restart(b *bed, again restarted) {
	t.row("CPU", seconds(again.cpu), "", "")
	t.row("peak RSS, MB", fmt.Sprintf("%.0f", float64(again.peak)/mega), "", "")
	for i, s := range b.servers {
		events := again.traffic[i]
		writes := count(events, func(e local.AuditEvent) bool { return isWrite(e) && !again.mine(e) })
		t.none(s.name+", writes beside those for the new object", writes.sum())
		t.tally("  ", writes)
		t.tally(s.name+", ", count(events, func(e local.AuditEvent) bool { return !isWrite(e) }))
	}
}

func (t table) head(title string) {
	_, _ = fmt.Fprintf(t.w, "\n%s\tmeasured\twanted\t\n", title) // Flush reports what goes wrong.
}

func (t table) row(name, got, want, mark string) {
	_, _ = fmt.Fprintf(t.w, "%s\t%s\t%s\t%s\n", name, got, want, mark)
}

func (t table) atMost(name string, got, want float64) {
	t.row(name, fmt.Sprintf("%.2f", got), fmt.Sprintf("at most %g", want), met(got <= want))
}

func (t table) within(name string, got, want time.Duration) {
	t.row(name, millis(got), "at most "+millis(want), met(got <= want))
}

func (t table) none(name string, got int) {
	t.row(name, strconv.Itoa(got), "0", met(got == 0))
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func rate(n int, d time.Duration) string { return fmt.Sprintf("%.0f", float64(n)/d.Seconds()) }
