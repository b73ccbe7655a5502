package object_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// gust is the time between two changes of a resource that does not come to rest.
const gust = 500 * time.Millisecond

// queried makes the readiness of an Object follow from a query.
func queried(o build.Object, query string) build.Object {
	o.Desired().Readiness = commonv1.Readiness{Policy: commonv1.ReadinessDeriveFromCelQuery, CelQuery: query}
	return o
}

// awaitField waits until the status of an Object shows a value in a field of its resource, and returns how long that
// took.
func awaitField(t *testing.T, c client.Client, o build.Object, want string, field ...string) time.Duration {
	t.Helper()
	begin := time.Now()
	kube.Await(t, c, o, fmt.Sprintf("%s to be shown", field), func() (bool, string) {
		seen := map[string]any{}
		if err := json.Unmarshal(o.Observed().Manifest.Raw, &seen); err != nil {
			return false, err.Error()
		}
		got, _, err := unstructured.NestedFieldNoCopy(seen, field...)
		return err == nil && fmt.Sprint(got) == want, fmt.Sprint(got)
	})
	return time.Since(begin)
}

// merge patches a resource or its status.
func merge(t *testing.T, c client.Client, o client.Object, status bool, patch string) {
	t.Helper()
	p := client.RawPatch(types.MergePatchType, []byte(patch))
	var err error
	if status {
		err = c.Status().Patch(t.Context(), o, p)
	} else {
		err = c.Patch(t.Context(), o, p)
	}
	if err != nil {
		t.Fatalf("cannot patch %s: %v", o.GetName(), err)
	}
}

// TestStormHidesNothing shows what is done at once in spite of a storm of other changes: a resource becomes ready,
// others read a field that has changed, connection details are published, drift is reverted, and the Object is deleted.
func TestStormHidesNothing(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w := newWorld(t, c, s)
		o := queried(w.keeper("source"), `has(object.data.ready) && object.data.ready == "yes"`)
		secretKey := types.NamespacedName{Namespace: w.namespace, Name: "details"}
		build.WriteConnectionSecret(o, secretKey)
		from := build.ConnectionDetail(corev1.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: w.target, Name: "source", FieldPath: "data.ready",
		}, "ready")
		o.Desired().ConnectionDetails = []commonv1.ConnectionDetail{from}
		reader := w.keeper("reader", w.fromObject("source", "status.atProvider.manifest.data.shape", "data.shape"))
		kube.Create(t, c, o, reader)
		awaitCondition(t, c, o, synced)
		cm, read := w.kept("source"), w.kept("reader")
		stop := storm(t, tc, cm)
		defer stop()

		turn := 0
		for what, step := range map[string]struct {
			key  string // of the data of the ConfigMap that is changed
			done func(value string) (bool, string)
		}{
			"an Object to become ready, or unready": {key: "ready", done: func(value string) (bool, string) {
				err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
				return err == nil && o.GetCondition(xpv2.TypeReady).Status == map[string]corev1.ConditionStatus{
					"yes": corev1.ConditionTrue, "no": corev1.ConditionFalse,
				}[value], conditions(o)
			}},
			"a connection detail": {key: "ready", done: func(value string) (bool, string) {
				s := &corev1.Secret{}
				err := c.Get(t.Context(), secretKey, s)
				return err == nil && string(s.Data["ready"]) == value, string(s.Data["ready"])
			}},
			"a field that another Object reads": {key: "shape", done: func(value string) (bool, string) {
				err := tc.Get(t.Context(), client.ObjectKeyFromObject(read), read)
				return err == nil && read.Data["shape"] == value, read.Data["shape"]
			}},
			"drift to be reverted": {key: "color", done: func(string) (bool, string) {
				err := tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)
				return err == nil && cm.Data["color"] == "blue", cm.Data["color"]
			}},
		} {
			kube.Figure(t, what, func() time.Duration {
				turn++
				value := []string{"no", "yes"}[turn%2]
				change := w.kept("source")
				begin := time.Now()
				setData(t, tc, change, step.key, value)
				kube.Eventually(t, what, func() (bool, string) { return step.done(value) })
				return time.Since(begin)
			})
		}
		stop()
		kube.Remove(t, c, reader)
		kube.Remove(t, c, o)
	})
}

// fromObject patches a field of the manifest with one of another keeper.
func (w world) fromObject(name, field, to string) commonv1.Reference {
	return commonv1.Reference{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
		Name: w.name(name), FieldPath: field,
	}}
}

// storm changes a key of a ConfigMap until it is stopped.
func storm(t *testing.T, c client.Client, cm *corev1.ConfigMap) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ticks := time.NewTicker(gust)
		defer ticks.Stop()
		for i := 0; ; i++ {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"data":{"count":"`+strconv.Itoa(i)+`"}}`))
			if err := c.Patch(ctx, cm.DeepCopy(), patch); err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-ticks.C:
			}
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("cannot change the ConfigMap: %v", err)
		}
	})
}
