package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// wantShare is how much of one process each of three replicas may cost, in percent.
const wantShare = 45

// report prints what has been measured.
func (b *shardsBench) report(t table) {
	t.head(fmt.Sprintf("CREATION OF %d OBJECTS THROUGH %d PROVIDERCONFIGS ON %d TARGETS",
		b.options.n, b.options.configs, b.options.targets))
	t.row("to Ready, median", millis(b.create.quantile(median)), "", "")
	t.head("ONE PROCESS")
	t.sharing(b.alone)
	t.replicas(b.alone.replicas, replicated{})
	t.head(fmt.Sprintf("%d REPLICAS", shards))
	t.sharing(b.shared)
	t.replicas(b.shared.replicas, b.alone.replicas[0])
	t.row("a replica is killed: change in its slot applied after", seconds(b.shared.pause), "", "")
	t.row("  and in another slot", seconds(b.shared.beside), "", "")
}

// sharing prints what is measured of all replicas together.
func (t table) sharing(s sharing) {
	t.row("restart, a change through each ProviderConfig applied after", seconds(s.served), "", "")
	t.row("restart, last request after", seconds(s.settled), "", "")
	t.none("requests at rest beside watches and leases", s.requests.sum())
	t.tally("  ", s.requests)
}

// replicas prints what is measured of each replica, and how much of one process that is, unless it is that process.
func (t table) replicas(all []replicated, one replicated) {
	t.row("ProviderConfigs", joined(all, func(r replicated) string { return strconv.Itoa(r.configs) }), "", "")
	t.shares("watches on targets", all, one, func(r replicated) float64 { return float64(r.watches[1]) })
	t.shares("watches on the control plane", all, one, func(r replicated) float64 { return float64(r.watches[0]) })
	t.shares("CPU of the restart, ms", all, one, func(r replicated) float64 { return inMillis(r.start) })
	t.shares(fmt.Sprintf("CPU in a rest of %s, ms", syncRestTime), all, one,
		func(r replicated) float64 { return inMillis(r.rest) })
	t.shares("peak RSS of the restart, MB", all, one, func(r replicated) float64 { return float64(r.peak) / mega })
	t.shares("RSS at rest, MB", all, one, func(r replicated) float64 { return float64(r.rss) / mega })
	t.shares("live heap at rest, MB", all, one, func(r replicated) float64 { return float64(r.heap) / mega })
}

// shares prints a figure of each replica, and how much of that of one process it is.
func (t table) shares(name string, all []replicated, one replicated, figure func(replicated) float64) {
	whole, within := figure(one), true
	got := joined(all, func(r replicated) string {
		if whole == 0 {
			return fmt.Sprintf("%.0f", figure(r))
		}
		share := 100 * figure(r) / whole
		within = within && share <= wantShare
		return fmt.Sprintf("%.0f (%.0f %%)", figure(r), share)
	})
	if whole == 0 {
		t.row(name, got, "", "")
		return
	}
	t.row(name, got, fmt.Sprintf("at most %d %% each", wantShare), met(within))
}

func joined(all []replicated, text func(replicated) string) string {
	texts := make([]string, 0, len(all))
	for _, r := range all {
		texts = append(texts, text(r))
	}
	return strings.Join(texts, ", ")
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
