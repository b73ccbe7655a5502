package main

import (
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/local"
)

// results are all that is measured of Objects.
type results struct {
	n      int
	floors [2]floored // before and after
	create created
	remove swept
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
	swept

	cpu  time.Duration // of the provider, since its start, until it has settled
	peak int64         // bytes
}

// rested is a while in which nothing happens.
type rested struct {
	lasted   time.Duration
	requests tally
	cpu      time.Duration
	rss      int64 // bytes, at its end
}

// restarted is a start of the provider with everything standing.
type restarted struct {
	ready   time.Duration               // from the start to a new object in its place
	traffic traffic                     // until all is settled
	mine    func(local.AuditEvent) bool // reports whether a request is about the new object
	cpu     time.Duration
	peak    int64
}

// meanOf returns the mean of both floors. If the two are far apart the machine was busy with other things at one end,
// and a ratio to them says little.
func meanOf(floors [2]floored) floored {
	mean := floored{cpu: usage{}}
	for _, f := range floors {
		mean.wall += f.wall / time.Duration(len(floors))
		for name, d := range f.cpu {
			mean.cpu[name] += d / time.Duration(len(floors))
		}
	}
	return mean
}
