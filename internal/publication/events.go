package publication

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/utils/clock"

	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// component is whom consumers see as the source of events.
	component = "service-provider"
	// eventsMost is how many events wait for one workspace at most.
	eventsMost = 200
	// eventMax is how long it may take to write one event.
	eventMax = 30 * time.Second
	// flushMax is how long it is waited for events to be written when a PublishedResource is not served any more.
	flushMax = 2 * time.Second
	// An event that repeats is written repeatsMost times at once, and then every repeatsEvery, as client-go does.
	// repeatsKnown is of how many events that is known.
	repeatsMost  = 25
	repeatsEvery = 5 * time.Minute
	repeatsKnown = 4096
)

var events = corev1.SchemeGroupVersion.WithResource("events")

// An eventRecorder writes events for consumers in their workspaces, beside the sync of objects.
type eventRecorder struct {
	name    string          // of the PublishedResource
	ctx     context.Context //nolint:containedctx // Its own life, which its writers share.
	cancel  context.CancelFunc
	turns   chan struct{} // held while an event is written
	writers sync.WaitGroup

	mu      sync.Mutex
	repeats *record.EventSourceObjectSpamFilter
	// queues are the events that wait, by logical cluster. Each queue has a writer, which ends with it.
	queues map[string][]queuedEvent
}

// A queuedEvent is an event that waits to be written.
type queuedEvent struct {
	*corev1.Event

	workspace dynamic.Interface
}

func newEventRecorder(name string) *eventRecorder {
	r := &eventRecorder{
		name: name, turns: make(chan struct{}, workers), queues: map[string][]queuedEvent{},
		// Events of an object that repeat must not cost it another one.
		repeats: record.NewEventSourceObjectSpamFilter(repeatsKnown, repeatsMost, float32(1/repeatsEvery.Seconds()),
			clock.RealClock{}, func(e *corev1.Event) string {
				return strings.Join([]string{string(e.InvolvedObject.UID), e.Type, e.Reason, e.Message}, "/")
			}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// drop counts an event that is not written.
func (r *eventRecorder) drop(eventType, reason string) {
	droppedEvents.WithLabelValues(r.name, eventType, reason).Inc()
}

// record has an event about an object of a workspace written, and reports whether it does. It does not wait. A nil
// workspace takes no events.
func (r *eventRecorder) record(
	cluster string, workspace dynamic.Interface, u *unstructured.Unstructured, is objectsync.Event,
) bool {
	now := metav1.Now()
	e := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cmp.Or(u.GetNamespace(), metav1.NamespaceDefault),
			Name:      recordutil.GenerateEventName(u.GetName(), now.UnixNano()),
		},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
			UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		},
		Type: is.Type, Reason: is.Reason, Message: is.Message, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: component},
		ReportingController: component,
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, has := r.queues[cluster]
	switch {
	case workspace == nil:
		r.drop(is.Type, dropRefused)
		return false
	case len(queue) == eventsMost:
		r.drop(is.Type, dropQueueFull)
		return false
	case r.repeats.Filter(e):
		return true
	}
	r.queues[cluster] = append(queue, queuedEvent{Event: e, workspace: workspace})
	if !has {
		r.writers.Go(func() { r.write(cluster) })
	}
	return true
}

// write writes the events of a workspace, one at a time, until none waits. If one is not answered, those behind it are
// dropped, too: their answers would take as long.
func (r *eventRecorder) write(cluster string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queues[cluster]) > 0 {
		e := r.queues[cluster][0]
		r.queues[cluster] = r.queues[cluster][1:]
		r.mu.Unlock()
		err := r.create(e)
		r.mu.Lock()
		var answer apierrors.APIStatus
		switch {
		case err == nil:
		case errors.As(err, &answer):
			r.drop(e.Type, dropRefused)
		default:
			for _, e := range append(r.queues[cluster], e) {
				r.drop(e.Type, dropUnanswered)
			}
			r.queues[cluster] = nil
		}
	}
	delete(r.queues, cluster)
}

func (r *eventRecorder) create(e queuedEvent) error {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	ctx, cancel := context.WithTimeout(r.ctx, eventMax)
	defer cancel()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Event)
	if err == nil {
		_, err = e.workspace.Resource(events).Namespace(e.Namespace).Create(ctx,
			&unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	}
	return err
}

// close ends the recorder as soon as it has written what waits, or after flushMax. Nothing is recorded any more.
func (r *eventRecorder) close() {
	defer time.AfterFunc(flushMax, r.cancel).Stop()
	r.writers.Wait()
	r.cancel()
}
