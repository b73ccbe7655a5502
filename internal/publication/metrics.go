package publication

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// labelName is the label of all metrics with the name of the PublishedResource.
const labelName = "publishedresource"

var (
	objects = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "publishedresource_objects",
		Help: "Objects of consumers, by whether they are synced, and orphaned copies.",
	}, []string{labelName, "state"})
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "publishedresource_sync_duration_seconds", Help: "Duration of the syncs of one object.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16), //nolint:mnd // From half a millisecond to 16 seconds.
	}, []string{labelName})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "publishedresource_sync_errors_total", Help: "Syncs of objects that have failed, by reason.",
	}, []string{labelName, "reason"})
)

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(objects, durations, failures)
}

// observe counts a sync. No reason is one that a tenant has written: a series for each would be without end.
func observe(name string, err error, took time.Duration) {
	durations.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		reason, _ := objectsync.WarningOf(err)
		failures.WithLabelValues(name, reason).Inc()
	}
}

// forgetMetrics forgets all series of a PublishedResource.
func forgetMetrics(name string) {
	objects.DeletePartialMatch(prometheus.Labels{labelName: name})
	durations.DeletePartialMatch(prometheus.Labels{labelName: name})
	failures.DeletePartialMatch(prometheus.Labels{labelName: name})
}
