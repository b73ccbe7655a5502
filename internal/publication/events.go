package publication

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"

	"github.com/crossplane-contrib/provider-kcp/internal/managedadapter"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
)

const (
	// component is whom consumers see as the source of events.
	component = "service-provider"
	// eventsMost is how many events wait for one workspace at most.
	eventsMost = 200
	// eventMax is how long it may take to write one event.
	eventMax = 10 * time.Second
	// flushMax is how long it is waited for events to be written when a PublishedResource is not served any more.
	flushMax = 2 * time.Second
)

// eventTries are how often an event is tried that is not answered: for half a minute, and as long as its tries take.
var eventTries = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6}

var events = corev1.SchemeGroupVersion.WithResource("events")

// An eventRecorder records events for consumers in their workspaces, beside the sync of objects. A Warning that repeats
// the last one of its object is recorded once, unless it was dropped.
type eventRecorder struct {
	name       string          // of the PublishedResource
	ctx        context.Context //nolint:containedctx // Its own life, which its writers share.
	cancel     context.CancelFunc
	correlator *record.EventCorrelator
	turns      chan struct{} // held while an event is written
	writers    sync.WaitGroup

	mu sync.Mutex
	// queues are the events that wait, by logical cluster. Each queue has a writer, which ends with it.
	queues map[string][]queuedEvent
	warned map[objectsync.Primary]objectsync.Event
	ending bool // Nothing is recorded any more.
}

// A queuedEvent is an event that waits to be written.
type queuedEvent struct {
	*corev1.Event

	count     []byte // the patch that counts it if it has happened before, nil for the first time
	workspace dynamic.Interface
	item      objectsync.Primary
	is        objectsync.Event
}

func newEventRecorder(name string) *eventRecorder {
	r := &eventRecorder{
		// The limit is for each event: those of an object that repeat must not cost it another one.
		name: name, correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{
			SpamKeyFunc: func(e *corev1.Event) string {
				return strings.Join([]string{string(e.InvolvedObject.UID), e.Type, e.Reason, e.Message}, "/")
			},
		}),
		turns:  make(chan struct{}, workers),
		queues: map[string][]queuedEvent{}, warned: map[objectsync.Primary]objectsync.Event{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	startDrops(name)
	return r
}

// record records events about an object. It does not wait. A nil workspace takes no events.
func (r *eventRecorder) record(
	p objectsync.Primary, u *unstructured.Unstructured, workspace dynamic.Interface, all []objectsync.Event,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, warning := r.warned[p], objectsync.Event{}
	for _, e := range all {
		repeats := was.Type == e.Type && was.Reason == e.Reason && managedadapter.SameText(was.Message, e.Message)
		switch {
		case e.Type == corev1.EventTypeWarning && repeats:
			warning = was
		case r.add(queuedEvent{workspace: workspace, item: p, is: e}, u) && e.Type == corev1.EventTypeWarning:
			warning = e
		}
	}
	if r.warned[p] = warning; warning == (objectsync.Event{}) {
		delete(r.warned, p)
	}
}

// add adds an event about an object to the queue of its workspace, and reports whether it counts as given. The caller
// holds the lock.
func (r *eventRecorder) add(e queuedEvent, u *unstructured.Unstructured) bool {
	about, err := reference.GetReference(clientgoscheme.Scheme, u)
	if err != nil || r.ending {
		return false
	}
	queue, has := r.queues[e.item.Cluster]
	switch {
	case e.workspace == nil:
		r.drop(e, dropRefused)
		return false
	case len(queue) == eventsMost:
		r.drop(e, dropQueueFull)
		return false
	}
	now, namespace := metav1.Now(), about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	result, err := r.correlator.EventCorrelate(&corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: recordutil.GenerateEventName(about.Name, now.UnixNano()),
		},
		InvolvedObject: *about, Type: e.is.Type, Reason: e.is.Reason, Message: e.is.Message, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: component},
		ReportingController: component,
	})
	if err != nil || result.Skip {
		return true // It is counted with its next repeat.
	}
	e.Event, e.count = result.Event, result.Patch
	r.queues[e.item.Cluster] = append(queue, e)
	if !has {
		r.writers.Go(func() { r.write(e.item.Cluster) })
	}
	return true
}

// drop counts an event that is not written. A Warning does not count as given then. The caller holds the lock.
func (r *eventRecorder) drop(e queuedEvent, reason string) {
	droppedEvents.WithLabelValues(r.name, e.is.Type, reason).Inc()
	if r.warned[e.item] == e.is {
		delete(r.warned, e.item)
	}
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
		var err error
		unanswered := wait.ExponentialBackoffWithContext(r.ctx, eventTries, func(context.Context) (bool, error) {
			var answer apierrors.APIStatus
			err = r.writeOne(e)
			return err == nil || errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError, nil
		})
		r.mu.Lock()
		switch {
		case unanswered == nil && err != nil:
			r.drop(e, dropRefused)
		case unanswered == nil:
		default:
			for _, e := range append(r.queues[cluster], e) {
				r.drop(e, dropUnanswered)
			}
			r.queues[cluster] = nil
		}
	}
	delete(r.queues, cluster)
}

// writeOne creates an event, or counts it if the workspace has it.
func (r *eventRecorder) writeOne(e queuedEvent) error {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	ctx, cancel := context.WithTimeout(r.ctx, eventMax)
	defer cancel()
	in := e.workspace.Resource(events).Namespace(e.Namespace)
	if e.count != nil {
		_, err := in.Patch(ctx, e.Name, types.MergePatchType, e.count, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Event)
	if err != nil {
		return err
	}
	_, err = in.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // It is this one, of a try that was not answered.
	}
	return err
}

func (r *eventRecorder) forget(p objectsync.Primary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.warned, p)
}

// close ends the recorder as soon as it has written what waits, or after flushMax.
func (r *eventRecorder) close() {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	defer time.AfterFunc(flushMax, r.cancel).Stop()
	r.writers.Wait()
	r.cancel()
}
