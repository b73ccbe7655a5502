package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/pkg/errors"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// What is to be reached. The times are for a machine of two cores with nothing else to do.
const (
	wantRatio           = 2.0
	wantControlRequests = 5.0
	wantTargetRequests  = 2.0
	wantPeakMB          = 90.0
	wantPickupMedian    = 40 * time.Millisecond
	wantPickupP99       = 200 * time.Millisecond
	wantDriftP99        = 150 * time.Millisecond
	wantRestart         = 2 * time.Second
)

const (
	median = 0.5
	p99    = 0.99
	mega   = 1 << 20
)

// A table is the report on its way to a writer.
type table struct{ w io.Writer }

// print writes the report.
func (r results) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	t := table{w: tw}
	t.row("OBJECTS", strconv.Itoa(r.n), "", "")
	t.row("load average of the machine", r.load[0]+" to "+r.load[1], "", "")
	r.printCreation(t)
	r.printRequests(t)
	r.printSingles(t)
	r.printRestart(t)
	return errors.Wrap(tw.Flush(), "cannot print results")
}

func (r results) printCreation(t table) {
	c := r.create
	t.head("CREATION")
	t.row("floor, wall time", fmt.Sprintf("%s (%s before, %s after)", seconds(r.floor()), seconds(r.floors[0].wall), seconds(r.floors[1].wall)), "", "")
	t.row("floor, Objects per second", rate(r.n, r.floor()), "", "")
	t.row("provider, wall time", seconds(c.wall), "", "")
	t.row("provider, Objects per second", rate(r.n, c.wall), "", "")
	t.atMost("wall time over the floor's", c.wall.Seconds()/r.floor().Seconds(), wantRatio)
	t.row("  over the slower and the faster floor", r.spread(), "", "")
	t.row("floor, CPU", r.floorCPU().String(), "", "")
	t.row("provider, CPU", c.all.String(), "", "")
	t.row("CPU over the floor's", fmt.Sprintf("%.2f", c.all.sum().Seconds()/r.floorCPU().sum().Seconds()), "", "")
	t.row("to Ready, median", millis(c.ready.quantile(median)), "", "")
	t.row("to Ready, p99", millis(c.ready.quantile(p99)), "", "")
	t.row("CPU of the provider until settled", seconds(c.cpu), "", "")
	t.atMost("peak RSS, MB", float64(c.peak)/mega, wantPeakMB)
}

func (r results) printRequests(t table) {
	for _, s := range []struct {
		name   string
		events []local.AuditEvent
		want   float64
	}{{"CONTROL PLANE", r.create.traffic.control, wantControlRequests}, {"TARGET", r.create.traffic.target, wantTargetRequests}} {
		t.head("REQUESTS TO THE " + s.name)
		all := requests(s.events)
		for _, what := range all.most() {
			t.row(what, fmt.Sprintf("%.3f (%d)", float64(all[what])/float64(r.n), all[what]), "", "")
		}
		t.atMost("per Object", float64(all.sum())/float64(r.n), s.want)
		watches := count(s.events, isWatch)
		for _, what := range watches.most() {
			t.row(what, strconv.Itoa(watches[what]), "", "")
		}
	}
}

func (r results) printSingles(t table) {
	t.head(fmt.Sprintf("SINGLE CHANGES WITH %d STANDING", r.n))
	t.within("new Object to Ready, median", r.pickup.quantile(median), wantPickupMedian)
	t.within("new Object to Ready, p99", r.pickup.quantile(p99), wantPickupP99)
	t.row("drift to reverted, median", millis(r.drift.quantile(median)), "", "")
	t.within("drift to reverted, p99", r.drift.quantile(p99), wantDriftP99)
	t.head(fmt.Sprintf("REST OF %s", restTime))
	for _, what := range r.rest.requests.most() {
		t.row(what, strconv.Itoa(r.rest.requests[what]), "", "")
	}
	t.none("requests beside watches and leases", r.rest.requests.sum())
	t.row("CPU", seconds(r.rest.cpu), "", "")
}

func (r results) printRestart(t table) {
	t.head(fmt.Sprintf("RESTART WITH %d STANDING", r.n))
	t.within("start to new Object Ready", r.again.ready, wantRestart)
	t.row("CPU", seconds(r.again.cpu), "", "")
	t.row("peak RSS, MB", fmt.Sprintf("%.0f", float64(r.again.peak)/mega), "", "")
	for _, s := range []struct {
		name   string
		events []local.AuditEvent
	}{{"control plane", r.again.traffic.control}, {"target", r.again.traffic.target}} {
		writes := count(s.events, func(e local.AuditEvent) bool { return isWrite(e) && !r.again.mine(e) })
		t.none(s.name+", writes beside those of the new Object", writes.sum())
		for _, what := range writes.most() {
			t.row("  "+what, strconv.Itoa(writes[what]), "", "")
		}
		all := count(s.events, func(e local.AuditEvent) bool { return !isWrite(e) })
		for _, what := range all.most() {
			t.row(s.name+", "+what, strconv.Itoa(all[what]), "", "")
		}
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
