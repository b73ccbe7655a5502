package main

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// What is to be reached. The times are for a machine of two cores with nothing else to do.
const (
	wantWrites = 2.0 // of an object, on each side, from its creation until its status is up
	wantPlaced = 2 * time.Second
	wantFair   = time.Second
)

// report prints what has been measured.
func (b *syncBench) report(t table) {
	got := b.got
	t.head(fmt.Sprintf("CREATION OF %d OBJECTS IN %d WORKSPACES", got.n, workspaces))
	t.floor(got.createFloors, got.n, got.create.wall)
	t.usage(got.createFloors, got.create.all)
	b.reportSweep(t, "to the copy", got.create)
	t.row("CPU of the provider", seconds(got.cpu), "", "")
	t.row("peak RSS, MB", fmt.Sprintf("%.0f", float64(got.peak)/mega), "", "")
	t.head("STATUSES OF ALL COPIES")
	t.floor(got.statusFloors, got.n, got.status.wall)
	b.reportSweep(t, "to the status in the workspace", got.status)
	b.reportWrites(t)
	b.reportOther(t, "CHANGES OF ALL OBJECTS", got.update)
	b.reportOther(t, "DELETION OF ALL OBJECTS", got.end)
	b.reportSingles(t)
	t.rest(got.rest)
	t.head(fmt.Sprintf("RESTART WITH %d STANDING", got.n))
	t.row("start to readiness", millis(got.readiness), "", "")
	t.row("start to the copy of a new object", millis(got.again.ready), "", "")
	t.within("readiness to the copy of a new object", max(0, got.again.ready-got.readiness), wantPlaced)
	t.restart(b.bed, got.again)
	t.head(fmt.Sprintf("START WITH %d WAITING IN ONE WORKSPACE", 2*got.n))
	t.row("new object of another to its copy, median", millis(got.others.quantile(median)), "", "")
	t.within("new object of another to its copy, slowest", got.others.quantile(1), wantFair)
	t.row("start to the last copy", seconds(got.backlog), "", "")
}

// reportSweep prints times and requests of something that was done to all objects.
func (b *syncBench) reportSweep(t table, what string, s swept) {
	t.row(what+", median", millis(s.took.quantile(median)), "", "")
	t.row(what+", p99", millis(s.took.quantile(p99)), "", "")
	for i, server := range b.servers {
		t.requests(server.name+", ", requests(s.traffic[i]), b.got.n)
	}
}

// reportOther prints what has no floor.
func (b *syncBench) reportOther(t table, title string, s swept) {
	t.head(title)
	t.row("provider, wall time", seconds(s.wall), "", "")
	t.row("provider, per second", rate(b.got.n, s.wall), "", "")
	b.reportSweep(t, "to the result", s)
}

// reportWrites prints what an object costs from its creation until its status is up. What makes the namespaces of
// copies is not of one object.
func (b *syncBench) reportWrites(t table) {
	t.head("CREATION AND STATUS TOGETHER")
	for i, server := range b.servers {
		events := slices.DeleteFunc(slices.Concat(b.got.create.traffic[i], b.got.status.traffic[i]),
			func(e local.AuditEvent) bool {
				return isWatch(e) || isEvent(e) || e.Resource == publishedResources.Resource
			})
		writes := count(events, func(e local.AuditEvent) bool {
			return isWrite(e) && e.Resource != "namespaces" && e.Code < http.StatusBadRequest
		})
		t.atMost(server.name+", writes per object beside events", float64(writes.sum())/float64(b.got.n), wantWrites)
		t.none(server.name+", reads", count(events, func(e local.AuditEvent) bool { return !isWrite(e) }).sum())
	}
}

func (b *syncBench) reportSingles(t table) {
	t.head(fmt.Sprintf("SINGLE OBJECTS WITH %d STANDING", b.got.n))
	for _, s := range []struct {
		what string
		took durations
	}{{"new object to its copy", b.got.down}, {"status of the copy to the workspace", b.got.up}} {
		t.row(s.what+", median", millis(s.took.quantile(median)), "", "")
		t.row(s.what+", p99", millis(s.took.quantile(p99)), "", "")
	}
}
