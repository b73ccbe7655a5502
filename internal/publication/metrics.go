package publication

import (
	"time"

	"github.com/pkg/errors"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

// labelName is the label of all metrics with the name of the PublishedResource.
const labelName = "publishedresource"

var (
	objects = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "publishedresource_objects",
		Help: "Objects of consumers, by whether they are synced, and copies that workspaces have left behind.",
	}, []string{labelName, "state"})
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "publishedresource_sync_duration_seconds", Help: "Duration of the syncs of one object.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16), //nolint:mnd // From half a millisecond to 16 seconds.
	}, []string{labelName})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "publishedresource_sync_errors_total", Help: "Syncs of objects that have failed, by reason.",
	}, []string{labelName, "reason"})
	droppedEvents = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "publishedresource_events_dropped_total",
		Help: "Events for consumers that were not written, by type and reason.",
	}, []string{labelName, "type", "reason"})
)

func init() { //nolint:gochecknoinits // So are metrics registered.
	metrics.Registry.MustRegister(objects, durations, failures, droppedEvents)
}

// Reasons why events are dropped.
const (
	dropQueueFull  = "QueueFull"
	dropRefused    = "Refused"
	dropUnanswered = "Unanswered"
)

// observe counts a sync.
func observe(name string, err error, took time.Duration) {
	durations.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		failures.WithLabelValues(name, reasonOf(err)).Inc()
	}
}

// knownReasons are those of API servers. A webhook of a tenant may answer with any text.
var knownReasons = sets.New(
	metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound,
	metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid,
	metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests,
	metav1.StatusReasonBadRequest, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonRequestEntityTooLarge,
	metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
)

// reasonOf returns a word for an error.
func reasonOf(err error) string {
	for reason, cause := range map[string]error{
		"Foreign": objectsync.ErrForeign, "Exists": objectsync.ErrExists, "Ambiguous": objectsync.ErrAmbiguous,
		"TooLarge": objectsync.ErrTooLarge, "Panic": errPanic,
	} {
		if errors.Is(err, cause) {
			return reason
		}
	}
	if r := objectsync.RefusalOf(err); r != nil {
		err = r
	}
	if r := apierrors.ReasonForError(err); knownReasons.Has(r) {
		return string(r)
	}
	return "Other"
}

// forgetMetrics forgets all series of a PublishedResource.
func forgetMetrics(name string) {
	objects.DeletePartialMatch(prometheus.Labels{labelName: name})
	durations.DeletePartialMatch(prometheus.Labels{labelName: name})
	failures.DeletePartialMatch(prometheus.Labels{labelName: name})
	droppedEvents.DeletePartialMatch(prometheus.Labels{labelName: name})
}
