package publication

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"

	"github.com/crossplane-contrib/provider-kcp/internal/kcp"
	"github.com/crossplane-contrib/provider-kcp/internal/objectsync"
	"github.com/crossplane-contrib/provider-kcp/internal/quiet"
	"github.com/crossplane-contrib/provider-kcp/internal/target"
)

const (
	// component is whom consumers see as the source of events.
	component = "service-provider"
	// tellMax is how long it may take to record one event.
	tellMax = 10 * time.Second
)

var events = corev1.SchemeGroupVersion.WithResource("events")

// tells records events for consumers in their workspaces, beside the sync of objects: repeated ones are counted, and of too many of one object the rest is
// dropped. A warning that is repeated with each try is recorded once.
type tells struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder

	mu     sync.Mutex
	warned map[objectsync.Primary]objectsync.Event
}

func newTells(clientOf func(cluster string) (dynamic.Interface, error)) *tells {
	t := &tells{broadcaster: record.NewBroadcaster(), warned: map[objectsync.Primary]objectsync.Event{}}
	t.recorder = t.broadcaster.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: component})
	t.broadcaster.StartRecordingToSink(&sink{clientOf: clientOf})
	return t
}

func (t *tells) stop() { t.broadcaster.Shutdown() }

// tell records events about an object.
func (t *tells) tell(p objectsync.Primary, u *unstructured.Unstructured, all []objectsync.Event) {
	var warning objectsync.Event
	for _, e := range all {
		if e.Type == corev1.EventTypeWarning {
			warning = e
			if was := t.was(p); was.Type == e.Type && was.Reason == e.Reason && quiet.SameText(was.Message, e.Message) {
				continue
			}
		}
		t.recorder.AnnotatedEventf(u, map[string]string{kcp.AnnotationCluster: p.Cluster}, e.Type, e.Reason, "%s", e.Message)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.warned[p] = warning; warning == (objectsync.Event{}) {
		delete(t.warned, p)
	}
}

func (t *tells) was(p objectsync.Primary) objectsync.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.warned[p]
}

func (t *tells) forget(p objectsync.Primary) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.warned, p)
}

// A sink writes events to the workspaces they name by an annotation.
type sink struct {
	clientOf func(cluster string) (dynamic.Interface, error)
}

var _ record.EventSink = &sink{}

// write hands an event to the client of its workspace. What a workspace does not take, because it has not accepted the claim or is gone,
// is dropped without a word: events are a courtesy.
func (s *sink) write(e *corev1.Event, do func(ctx context.Context, c dynamic.ResourceInterface, u *unstructured.Unstructured) error) (*corev1.Event, error) {
	client, err := s.clientOf(e.Annotations[kcp.AnnotationCluster])
	if err != nil {
		return e, nil // The workspace is gone.
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	ctx, cancel := context.WithTimeout(context.Background(), tellMax)
	defer cancel()
	err = do(ctx, client.Resource(events).Namespace(e.Namespace), u)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || target.IsUnserved(err) {
		return e, nil
	}
	return e, err
}

// Create records an event.
func (s *sink) Create(e *corev1.Event) (*corev1.Event, error) {
	return s.write(e, func(ctx context.Context, c dynamic.ResourceInterface, u *unstructured.Unstructured) error {
		_, err := c.Create(ctx, u, metav1.CreateOptions{})
		return err
	})
}

// Update replaces an event.
func (s *sink) Update(e *corev1.Event) (*corev1.Event, error) {
	return s.write(e, func(ctx context.Context, c dynamic.ResourceInterface, u *unstructured.Unstructured) error {
		_, err := c.Update(ctx, u, metav1.UpdateOptions{})
		return err
	})
}

// Patch counts an event that has been recorded before.
func (s *sink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.write(e, func(ctx context.Context, c dynamic.ResourceInterface, _ *unstructured.Unstructured) error {
		_, err := c.Patch(ctx, e.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}
