package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
)

// A usage is processor time by the name of the program: ours, the servers' and the provider's.
type usage map[string]time.Duration

// spend returns what f costs.
func spend(f func() error) (usage, error) {
	before, err := provider.FamilyCPU()
	if err != nil {
		return nil, err
	}
	if err := f(); err != nil {
		return nil, err
	}
	after, err := provider.FamilyCPU()
	if err != nil {
		return nil, err
	}
	u := usage{}
	for name, d := range after {
		u[name] = d - before[name]
	}
	return u, nil
}

func (u usage) sum() time.Duration {
	var all time.Duration
	for _, d := range u {
		all += d
	}
	return all
}

// String gives the sum and the parts.
func (u usage) String() string {
	parts := make([]string, 0, len(u))
	for _, name := range slices.Sorted(maps.Keys(u)) {
		parts = append(parts, fmt.Sprintf("%s %.2f", name, u[name].Seconds()))
	}
	return fmt.Sprintf("%s (%s)", seconds(u.sum()), strings.Join(parts, ", "))
}
