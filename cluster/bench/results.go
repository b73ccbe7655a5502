package main

import (
	"fmt"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// results are all that is measured.
type results struct {
	n      int
	load   [2]string  // of the machine, before and after
	floors [2]floored // before and after
	create created
	pickup durations
	drift  durations
	rest   rested
	again  restarted
}

// floored is one run of the floor.
type floored struct {
	wall time.Duration
	cpu  usage
}

// created is the creation of all Objects.
type created struct {
	wall    time.Duration // from the first request to the last Object that is Ready
	ready   durations     // from the request to Ready, of each
	traffic traffic
	all     usage         // until the last Object is Ready
	cpu     time.Duration // of the provider, since its start, until it has settled
	peak    int64         // bytes
}

// rested is a while in which nothing happens.
type rested struct {
	requests tally
	cpu      time.Duration
}

// restarted is a start of the provider with all Objects standing.
type restarted struct {
	ready   time.Duration               // from the start to a new Object that is Ready
	traffic traffic                     // until all is settled
	mine    func(local.AuditEvent) bool // says whether a request is about the new Object
	cpu     time.Duration
	peak    int64
}

// spread is what the ratio would be with one floor only. If the two are far apart the machine was busy with other things at one end,
// and the ratio says little.
func (r results) spread() string {
	slow, fast := max(r.floors[0].wall, r.floors[1].wall), min(r.floors[0].wall, r.floors[1].wall)
	return fmt.Sprintf("%.2f and %.2f", r.create.wall.Seconds()/slow.Seconds(), r.create.wall.Seconds()/fast.Seconds())
}

// floor is the mean of both.
func (r results) floor() time.Duration { return (r.floors[0].wall + r.floors[1].wall) / 2 }

// floorCPU is the mean of both.
func (r results) floorCPU() usage {
	mean := usage{}
	for _, f := range r.floors {
		for name, d := range f.cpu {
			mean[name] += d / time.Duration(len(r.floors))
		}
	}
	return mean
}
