package main

import (
	"fmt"
	"strings"
	"time"
)

// What is to be reached. The times are for a machine of two cores with nothing else to do.
const (
	wantControlRequests = 5.0
	wantTargetRequests  = 2.0
	wantPeakMB          = 90.0
	wantPickupMedian    = 40 * time.Millisecond
	wantPickupP99       = 200 * time.Millisecond
	wantDriftP99        = 150 * time.Millisecond
	wantRestart         = 2 * time.Second
)

// report prints what has been measured.
func (b *objectsBench) report(t table) {
	b.reportCreation(t)
	b.reportRequests(t)
	b.reportSingles(t)
	t.rest(b.got.rest)
	if b.options.poll > 0 {
		polled := float64(b.got.n + singles)
		t.row("requests for each Object", fmt.Sprintf("%.2f", float64(b.got.rest.requests.sum())/polled), "", "")
	}
	t.head(fmt.Sprintf("RESTART WITH %d STANDING", b.got.n))
	t.within("start to new Object Ready", b.got.again.ready, wantRestart)
	t.restart(b.bed, b.got.again)
	b.reportDeletion(t)
}

// reportDeletion prints what has no floor: clients that delete as much wait for nothing.
func (b *objectsBench) reportDeletion(t table) {
	d := b.got.remove
	t.head(fmt.Sprintf("DELETION OF %d OBJECTS", b.got.n))
	t.row("provider, wall time", seconds(d.wall), "", "")
	t.row("CPU", d.all.String(), "", "")
	t.row("to the end of an Object, median", millis(d.took.quantile(median)), "", "")
	for i, server := range b.servers {
		all := requests(d.traffic[i])
		t.requests(server.name+", ", all, b.got.n)
		t.row(server.name+", per Object", fmt.Sprintf("%.2f", float64(all.sum())/float64(b.got.n)), "", "")
	}
}

func (b *objectsBench) reportCreation(t table) {
	c := b.got.create
	t.head(fmt.Sprintf("CREATION OF %d OBJECTS", b.got.n))
	t.floor(b.got.floors, b.got.n, c.wall)
	t.usage(b.got.floors, c.all)
	t.row("to Ready, median", millis(c.took.quantile(median)), "", "")
	t.row("to Ready, p99", millis(c.took.quantile(p99)), "", "")
	t.row("CPU of the provider until settled", seconds(c.cpu), "", "")
	t.atMost("peak RSS, MB", float64(c.peak)/mega, wantPeakMB)
}

func (b *objectsBench) reportRequests(t table) {
	for i, want := range []float64{wantControlRequests, wantTargetRequests} {
		events := b.got.create.traffic[i]
		t.head("REQUESTS TO THE " + strings.ToUpper(b.servers[i].name))
		all := requests(events)
		t.requests("", all, b.got.n)
		t.atMost("per Object", float64(all.sum())/float64(b.got.n), want)
		t.tally("", count(events, isWatch))
	}
}

func (b *objectsBench) reportSingles(t table) {
	t.head(fmt.Sprintf("SINGLE CHANGES WITH %d STANDING", b.got.n))
	t.within("new Object to Ready, median", b.got.pickup.quantile(median), wantPickupMedian)
	t.within("new Object to Ready, p99", b.got.pickup.quantile(p99), wantPickupP99)
	if b.options.poll == 0 {
		t.row("drift to reverted, median", millis(b.got.drift.quantile(median)), "", "")
		t.within("drift to reverted, p99", b.got.drift.quantile(p99), wantDriftP99)
	}
}
