// Package version tells which version of the provider this is.
package version

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Version of the provider. It is set by the linker.
var Version = "v0.0.0-dev"

// UserAgent is what the provider calls itself towards API servers.
func UserAgent() string { return "provider-kcp/" + Version }

// NewBuildInfo returns the metric provider_kcp_build_info. Its value is always 1, and its labels are the version of the
// provider and that of Go.
func NewBuildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "provider_kcp_build_info",
		Help:        "The version of the provider and of Go, as labels. The value is always 1.",
		ConstLabels: prometheus.Labels{"version": Version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}
