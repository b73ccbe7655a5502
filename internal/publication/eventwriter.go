package publication

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/util/workqueue"

	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

const (
	// component is whom consumers see as the source of events.
	component = "service-provider"
	// writeMax is how long it may take to write one event.
	writeMax = 10 * time.Second
)

var events = corev1.SchemeGroupVersion.WithResource("events")

// write writes the events of workspaces as they take turns.
func (r *eventRecorder) write(turns workqueue.TypedRateLimitingInterface[string], slow bool) {
	for {
		cluster, shutdown := turns.Get()
		if shutdown {
			return
		}
		if q, e := r.next(cluster, slow); e != nil {
			r.settle(q, e, r.writeOne(e))
		}
		turns.Done(cluster)
	}
}

// next takes the next event of a workspace whose turn it is, nil if it has none now. After the last one the workspace
// has no queue any more.
func (r *eventRecorder) next(cluster string, slow bool) (*eventQueue, *queuedEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.queues[cluster]
	if q == nil || q.slow != slow {
		return nil, nil
	}
	q.rests = false
	now := time.Now()
	if r.ending {
		now = now.Add(repeatMost)
	}
	e, wait := q.next(now)
	switch {
	case e == nil && wait == 0:
		delete(r.queues, cluster)
		r.turns[slow].Forget(cluster)
	case e == nil:
		r.turns[slow].AddAfter(cluster, wait)
	}
	return q, e
}

// settle records what became of an event. A workspace that has not answered rests. What it has refused is dropped.
func (r *eventRecorder) settle(q *eventQueue, e *queuedEvent, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cluster, oldest := e.item.Cluster, q.oldest(err, time.Now())
	if err == nil || isRefusal(err) {
		if err != nil {
			r.drop(e, dropRefused)
		}
		r.turns[q.slow].Forget(cluster)
		r.turns[q.slow].Add(cluster)
		return
	}
	q.slow, q.rests = true, true
	q.giveBack(e)
	for _, old := range q.expire(oldest) {
		r.drop(old, dropExpired)
	}
	r.turns[true].AddRateLimited(cluster)
}

// isRefusal reports whether a workspace has answered that it does not take an event. That it serves no events is no
// refusal: kcp says so for a moment after its start, too.
func isRefusal(err error) bool {
	return errors.Is(err, errNoEvents) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) && !target.IsUnserved(err)
}

// writeOne creates an event, or counts it if it repeats one that has been written.
func (r *eventRecorder) writeOne(e *queuedEvent) error {
	r.mu.Lock()
	clientOf := r.clientOf
	r.mu.Unlock()
	client, err := clientOf(e.item.Cluster)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, writeMax)
	defer cancel()
	if was, ok := r.series.Get(e.eventKey); ok {
		was, _ := was.(eventSeries)
		was.count += e.count
		err := r.count(ctx, client, e, was)
		if !apierrors.IsNotFound(err) || target.IsUnserved(err) {
			return err
		}
		r.series.Remove(e.eventKey) // The workspace has it no more.
	}
	return r.create(ctx, client, e)
}

func namespaceOf(e *queuedEvent) string {
	if e.about.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return e.about.Namespace
}

// count writes how often an event has happened by now.
func (r *eventRecorder) count(ctx context.Context, client dynamic.Interface, e *queuedEvent, is eventSeries) error {
	body, err := json.Marshal(map[string]any{"count": is.count, "lastTimestamp": metav1.NewTime(e.last)})
	if err != nil {
		return err
	}
	_, err = client.Resource(events).Namespace(namespaceOf(e)).Patch(ctx, is.name, types.MergePatchType, body,
		metav1.PatchOptions{})
	if err == nil {
		is.written = time.Now()
		r.series.Add(e.eventKey, is)
	}
	return err
}

// create creates an event. One that has its name already is this one, of a try that was not answered.
func (r *eventRecorder) create(ctx context.Context, client dynamic.Interface, e *queuedEvent) error {
	about := e.about
	about.ResourceVersion = e.version
	name := util.GenerateEventName(e.about.Name, e.first.UnixNano())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespaceOf(e), Name: name},
		InvolvedObject: about, Type: e.Type, Reason: e.Reason, Message: e.Message, Count: e.count,
		FirstTimestamp: metav1.NewTime(e.first), LastTimestamp: metav1.NewTime(e.last),
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	})
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	if _, err := client.Resource(events).Namespace(u.GetNamespace()).Create(ctx, u,
		metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	r.series.Add(e.eventKey, eventSeries{name: name, count: e.count, written: time.Now()})
	return nil
}
