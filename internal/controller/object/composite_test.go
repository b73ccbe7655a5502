package object_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// composed makes an Object a part of a composite.
func composed(o build.Object, composite *corev1.ConfigMap) build.Object {
	o.SetLabels(map[string]string{"crossplane.io/composite": composite.GetName()})
	o.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: composite.GetName(), UID: composite.GetUID(), Controller: new(true),
	}})
	return o
}

// rollOut changes the status of a Deployment as its controller does, one step each half second, until it is available
// or the context ends.
func rollOut(ctx context.Context, c client.Client, d *unstructured.Unstructured) error {
	ticks := time.NewTicker(gust)
	defer ticks.Stop()
	for _, step := range []string{
		`"observedGeneration":1`, `"replicas":3,"unavailableReplicas":3`, `"updatedReplicas":3`, `"readyReplicas":1`,
		`"readyReplicas":2`,
		`"readyReplicas":3,"unavailableReplicas":0`, `"availableReplicas":3`, `"terminatingReplicas":0`,
	} {
		if err := c.Status().Patch(ctx, d,
			client.RawPatch(types.MergePatchType, []byte(`{"status":{`+step+`}}`))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
	return nil
}

// TestCompositeKeepsCircuitClosed shows that thirty Deployments of one composite, which take four seconds to roll out,
// leave Crossplane's circuit breaker closed: it begins to count when all are made, with one token of a hundred for each
// Object and two for each write, and gets one back each second.
func TestCompositeKeepsCircuitClosed(t *testing.T) {
	const count = 30
	c, tc := provide(t), target.Client(t)
	w := newWorld(t, c, build.Namespaced())
	composite := w.source(t, "composite", nil)
	audit := local.Audit(t)
	var all []build.Object
	for i := range count {
		name := fmt.Sprintf("web-%d", i)
		o := w.scope.Object(w.namespace, name, w.config, build.Deployment(w.target, name))
		o = composed(queried(o, "has(object.status.availableReplicas) && object.status.availableReplicas == 3"),
			composite)
		kube.Create(t, c, o)
		all = append(all, o)
	}
	for _, o := range all {
		awaitCondition(t, c, o, synced)
	}
	mark, begin := audit.Mark(), time.Now()
	var rolling sync.WaitGroup
	for i := range count {
		d := &unstructured.Unstructured{Object: build.Deployment(w.target, fmt.Sprintf("web-%d", i))}
		rolling.Go(func() {
			if err := rollOut(t.Context(), tc, d); err != nil {
				t.Errorf("cannot roll out %s: %v", d.GetName(), err)
			}
		})
	}
	rolling.Wait()
	for _, o := range all {
		awaitReady(t, c, o)
	}
	took := time.Since(begin)
	for _, o := range all {
		awaitField(t, c, o, "0", "status", "terminatingReplicas")
	}
	shown := time.Since(begin)
	tokens, last, writes := 100.0-count, begin, 0
	for _, e := range audit.Since(mark) {
		if e.Namespace != w.namespace || !strings.HasPrefix(e.Subject(), "objects.") || e.Verb == "get" ||
			e.Verb == "list" {
			continue
		}
		writes++
		tokens = min(100, tokens+e.Time.Sub(last).Seconds()) - 2
		last = e.Time
		if tokens < 0 {
			t.Fatalf("The circuit breaker opens at write %d, after %s", writes, e.Time.Sub(begin))
		}
	}
	t.Logf("ready after %s, all is shown after %s, %d writes", took, shown, writes)
	if most := 3 * count; writes > most {
		t.Errorf("want at most %d writes, got %d", most, writes)
	}
}
