package version

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// NewBuildInfo returns the metric provider_kcp_build_info. Its value is always 1, and its labels are the version of the
// provider and that of Go.
func NewBuildInfo() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "provider_kcp_build_info",
		Help:        "The version of the provider and of Go, as labels. The value is always 1.",
		ConstLabels: prometheus.Labels{"version": Version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}
