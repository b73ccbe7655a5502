package failover_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// newStorm creates, changes and deletes Objects, each with a ConfigMap of its own, until the function it returns is
// called.
func (s *stage) newStorm(t *testing.T, perSecond rate.Limit) (end func()) {
	t.Helper()
	limit := rate.NewLimiter(perSecond, 1)
	var ends []func()
	for w := range stormWriters {
		ends = append(ends, repeat(t, limit, func(ctx context.Context) error {
			return s.write(ctx, w+stormWriters*rand.IntN(stormSize/stormWriters)) // Each has Objects of its own.
		}))
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// repeat does something again and again until the function it returns is called, or the test ends.
func repeat(t *testing.T, limit *rate.Limiter, do func(context.Context) error) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() {
		for limit.Wait(ctx) == nil {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	end = func() { cancel(); busy.Wait() }
	t.Cleanup(end)
	return end
}

// write creates the Object of a number, or changes or deletes it.
func (s *stage) write(ctx context.Context, i int) error {
	config, name, value := s.configs[i%len(s.configs)], fmt.Sprintf("%s-%d", s.name, i), strconv.Itoa(rand.Int())
	o := build.Cluster().Object("", name, config, build.ConfigMap(config, name, "value", value))
	switch rand.IntN(3) {
	case 0:
		return client.IgnoreNotFound(s.c.Delete(ctx, o))
	case 1:
		return client.IgnoreAlreadyExists(s.c.Create(ctx, o))
	}
	patch := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"forProvider":{"manifest":{"data":{"value":%q}}}}}`, value))
	return client.IgnoreNotFound(s.c.Patch(ctx, o, patch))
}

// settled reports whether there is a ConfigMap for each Object, as the Object wants it, and no other.
func (s *stage) settled(ctx context.Context) (bool, string) {
	objects, configMaps := &objectv1alpha2.ObjectList{}, &corev1.ConfigMapList{}
	if err := s.c.List(ctx, objects); err != nil {
		return false, err.Error()
	}
	if err := s.tc.List(ctx, configMaps); err != nil {
		return false, err.Error()
	}
	want, got, waiting := map[string]string{}, map[string]string{}, 0
	for i := range objects.Items {
		o := &objects.Items[i]
		if !slices.Contains(s.configs, o.Spec.ProviderConfigReference.Name) {
			continue // Of another test.
		}
		_, value, _ := strings.Cut(string(o.Spec.ForProvider.Manifest.Raw), `"value":"`)
		want[o.GetName()], _, _ = strings.Cut(value, `"`)
		if o.GetDeletionTimestamp() != nil || o.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue {
			waiting++
		}
	}
	for _, cm := range configMaps.Items {
		if slices.Contains(s.configs, cm.GetNamespace()) {
			got[cm.GetName()] = cm.Data["value"]
		}
	}
	diff := cmp.Diff(want, got)
	return diff == "" && waiting == 0, fmt.Sprintf("%d Objects not Ready, ConfigMaps: -want, +got:\n%s", waiting, diff)
}

// awaitSettled waits until there is a ConfigMap on the target for each Object, as the Object wants it, and no other. A
// replica that has ended is replaced meanwhile, as a kubelet does. It returns the replica or what has replaced it.
func (s *stage) awaitSettled(t *testing.T, r *replica) *replica {
	t.Helper()
	kube.Eventually(t, "each Object to have its ConfigMap, and none without an Object", func() (bool, string) {
		if r.ended() {
			r = s.start(t)
		}
		return s.settled(t.Context())
	})
	return r
}
