package publication

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// component is whom consumers see as the source of events.
	component = "service-provider"
	// eventMax is how long it may take to write one event. A workspace that takes longer gets none for silence: those of
	// others wait.
	eventMax = 3 * time.Second
	silence  = 5 * time.Minute
	// writers is how many events of an endpoint are written at a time. Those of a workspace are written one by one.
	writers = 8
)

var events = corev1.SchemeGroupVersion.WithResource("events")

var writerSeed = maphash.MakeSeed()

// A writer writes the events of a share of the workspaces of an endpoint.
type writer struct {
	endpoint *clusters.Cluster
	share    uint64
}

// An eventRecorder records events for consumers in their workspaces, by a broadcaster for each writer.
type eventRecorder struct {
	mu sync.Mutex
	of map[writer]record.EventBroadcaster
}

// record records an event about an object of a workspace. It does not wait.
func (r *eventRecorder) record(
	endpoint *clusters.Cluster, cluster string, u *unstructured.Unstructured, e objectsync.Event,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := writer{endpoint, maphash.String(writerSeed, cluster) % writers}
	b := r.of[by]
	if b == nil {
		b = newBroadcaster(endpoint.In)
		r.of[by] = b
	}
	// What does not fit into its queue is not logged: operators can do nothing about it.
	b.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component}).WithLogger(logr.Discard()).
		AnnotatedEventf(u, map[string]string{kcp.AnnotationCluster: cluster}, e.Type, e.Reason, "%s", e.Message)
}

// newBroadcaster returns what writes events to workspaces. What repeats of an object must not cost it another event.
func newBroadcaster(workspaces func(cluster string) (dynamic.Interface, error)) record.EventBroadcaster {
	b := record.NewBroadcaster(record.WithCorrelatorOptions(record.CorrelatorOptions{
		SpamKeyFunc: func(e *corev1.Event) string {
			return strings.Join([]string{string(e.InvolvedObject.UID), e.Type, e.Reason, e.Message}, "/")
		},
	}))
	b.StartRecordingToSink(&eventSink{workspaces: workspaces, silent: map[string]time.Time{}})
	return b
}

// close ends the recorder. What it has not written by then is dropped.
func (r *eventRecorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for by, b := range r.of {
		b.Shutdown()
		delete(r.of, by)
	}
}

// An eventSink writes events to the workspaces that their annotations name, one at a time. What a workspace refuses or
// does not answer is dropped, and no error.
type eventSink struct {
	workspaces func(cluster string) (dynamic.Interface, error)
	silent     map[string]time.Time // until when workspaces get no events
}

var _ record.EventSink = &eventSink{}

// Create creates an event.
func (s *eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	out, _ := s.write(e, func(ctx context.Context, in dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetAPIVersion("v1")
		u.SetKind("Event")
		u.SetAnnotations(nil) // kcp sets it.
		return in.Create(ctx, u, metav1.CreateOptions{})
	})
	return out, nil
}

// Update is for the interface alone: nobody calls it.
func (s *eventSink) Update(e *corev1.Event) (*corev1.Event, error) { return e, nil }

// Patch counts an event once more. One that is gone is an error: it is created again.
func (s *eventSink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	out, err := s.write(e, func(ctx context.Context, in dynamic.ResourceInterface) (*unstructured.Unstructured, error) {
		return in.Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	})
	if !apierrors.IsNotFound(err) {
		err = nil
	}
	return out, err
}

// write writes an event, and returns it as it is then.
func (s *eventSink) write(
	e *corev1.Event, do func(context.Context, dynamic.ResourceInterface) (*unstructured.Unstructured, error),
) (*corev1.Event, error) {
	cluster := e.Annotations[kcp.AnnotationCluster]
	if time.Now().Before(s.silent[cluster]) {
		return e, nil
	}
	delete(s.silent, cluster)
	workspace, err := s.workspaces(cluster)
	if err != nil {
		return e, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), eventMax)
	defer cancel()
	u, err := do(ctx, workspace.Resource(events).Namespace(e.Namespace))
	if ctx.Err() != nil {
		s.silent[cluster] = time.Now().Add(silence)
	}
	if err != nil {
		return e, err
	}
	written := &corev1.Event{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, written); err != nil {
		return e, err
	}
	return written, nil
}

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
