package failover_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// stormSize is how many Objects there may be at a time.
	stormSize = 300
	// stormRate is how many Objects are created, changed or deleted each second, by stormWriters at a time.
	stormRate    = 80
	stormWriters = 4
)

// A storm creates, changes and deletes Objects, each with a ConfigMap of its own, until it is ended.
type storm struct {
	stage *stage
	done  atomic.Int64 // how many Objects were written
	end   func()
}

func (s *stage) newStorm(t *testing.T) *storm {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	st := &storm{stage: s, end: func() { cancel(); writers.Wait() }}
	limit := rate.NewLimiter(stormRate, 1)
	for w := range stormWriters {
		writers.Go(func() {
			for limit.Wait(ctx) == nil {
				i := w + stormWriters*rand.IntN(stormSize/stormWriters) // Each writer has Objects of its own.
				if err := st.write(ctx, i); err != nil && ctx.Err() == nil {
					t.Errorf("storm: %v", err)
					return
				}
				st.done.Add(1)
			}
		})
	}
	t.Cleanup(st.end)
	return st
}

// write creates an Object, or changes or deletes it.
func (st *storm) write(ctx context.Context, i int) error {
	name, value := fmt.Sprintf("%s-%d", st.stage.config, i), strconv.FormatInt(st.done.Load(), 10)
	o := build.Cluster().Object("", name, st.stage.config, build.ConfigMap(st.stage.config, name, "value", value))
	switch rand.IntN(3) {
	case 0:
		return client.IgnoreNotFound(st.stage.c.Delete(ctx, o))
	case 1:
		return client.IgnoreAlreadyExists(st.stage.c.Create(ctx, o))
	}
	patch := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"forProvider":{"manifest":{"data":{"value":%q}}}}}`, value))
	return client.IgnoreNotFound(st.stage.c.Patch(ctx, o, patch))
}

// awaitSettled waits until there is a ConfigMap on the target for each Object, as the Object wants it, and no other. A
// replica that has ended is replaced meanwhile, as a kubelet does. It returns the replica or what has replaced it.
func (s *stage) awaitSettled(t *testing.T, r *replica) *replica {
	t.Helper()
	kube.Eventually(t, "each Object to have its ConfigMap, and none without an Object", func() (bool, string) {
		if r.ended() {
			r = s.start(t, nil)
		}
		objects, configMaps := &objectv1alpha2.ObjectList{}, &corev1.ConfigMapList{}
		if err := s.c.List(t.Context(), objects); err != nil {
			return false, err.Error()
		}
		if err := s.tc.List(t.Context(), configMaps, client.InNamespace(s.config)); err != nil {
			return false, err.Error()
		}
		want, got, waiting := map[string]string{}, map[string]string{}, 0
		for i := range objects.Items {
			o := &objects.Items[i]
			if o.Spec.ProviderConfigReference.Name != s.config {
				continue // Of another test.
			}
			_, value, _ := strings.Cut(string(o.Spec.ForProvider.Manifest.Raw), `"value":"`)
			want[o.GetName()], _, _ = strings.Cut(value, `"`)
			if o.GetDeletionTimestamp() != nil || o.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
				waiting++
			}
		}
		for _, cm := range configMaps.Items {
			got[cm.GetName()] = cm.Data["value"]
		}
		diff := cmp.Diff(want, got)
		return diff == "" && waiting == 0,
			fmt.Sprintf("%d Objects not Ready, ConfigMaps: -want, +got:\n%s", waiting, diff)
	})
	return r
}
