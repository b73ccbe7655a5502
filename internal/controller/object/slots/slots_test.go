// Package slots_test shows what becomes of Objects whose ProviderConfigs are in the slots of two replicas.
package slots_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/apis"
	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	cluster "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/clusters"
	"github.com/crossplane-contrib/provider-kcp/internal/controller/object"
	"github.com/crossplane-contrib/provider-kcp/internal/scope"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	admins = "system:masters"
	number = 3 // of slots; at first the last one has no replica
	// movers is how many Objects move at a time, and moves how often each does.
	movers = 12
	moves  = 25
)

var (
	local, target kube.Server
	once          sync.Once
)

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

// A world has a ProviderConfig in each slot. That of slot 1 leads to the control plane, the others to the target. Both
// have a namespace of one name.
type world struct {
	c, tc     client.Client
	scope     build.Scope
	namespace string // of the ProviderConfigs
	configs   [number]string
	target    string // a namespace of both servers
}

func newWorld(t *testing.T, s build.Scope) world {
	t.Helper()
	once.Do(func() {
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
		start(t, 0)
		start(t, 1)
	})
	w := world{
		c: local.Client(t, apis.AddToScheme), tc: target.Client(t), scope: s, namespace: local.Namespace(t),
		target: target.Namespace(t),
	}
	kube.Create(t, w.c, &corev1.Namespace{ObjectMeta: build.Meta("", w.target)})
	for i, server := range []*kube.Server{&target, &local, &target} {
		name := "to-" + strconv.Itoa(i)
		kube.Create(t, w.c, build.Credentials(w.namespace, name, kube.Kubeconfig(t, server.User(t, "provider", admins))))
		for n := 0; w.configs[i] == ""; n++ {
			pc := s.Config(w.namespace, fmt.Sprintf("%s-%d", w.namespace, n), build.FromSecret(w.namespace, name))
			if slot.New(number).Of(scope.Holder(pc)) == i {
				w.configs[i] = pc.GetName()
				kube.Create(t, w.c, pc)
			}
		}
	}
	return w
}

// start runs a replica in a slot.
func start(t *testing.T, of int) {
	t.Helper()
	slots, user := slot.New(number), "replica"
	for slots.Of(user) != of { // It takes the slot of its name.
		user += "-x"
	}
	cfg := local.User(t, user, admins)
	leases, err := coordinationclient.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lock := slot.NewLock(slots, slot.Options{
		Client: leases, Namespace: metav1.NamespaceDefault, ID: "slots", Log: logging.NewNopLogger(),
		Config: resourcelock.ResourceLockConfig{Identity: user},
	})
	if _, _, err := lock.Get(t.Context()); !apierrors.IsNotFound(err) {
		t.Fatalf("Lease of a free slot: want none, got error %v", err)
	}
	if err := lock.Create(t.Context(), resourcelock.LeaderElectionRecord{
		HolderIdentity: user, LeaseDurationSeconds: 3600,
	}); err != nil {
		t.Fatal(err)
	}
	registry, err := clusters.NewRegistry(clusters.Options{Injected: cfg, UserAgent: "provider-kcp/test", Slots: slots})
	if err != nil {
		t.Fatal(err)
	}
	provider.Start(t, cfg, func(o *object.Options) { o.Registry = registry })
}

func (w world) object(name string, slot int, value string) build.Object {
	return w.scope.Object(w.namespace, w.target+"-"+name, w.configs[slot],
		build.ConfigMap(w.target, name, "value", value))
}

// server returns a client of the server that the ProviderConfig of a slot leads to.
func (w world) server(slot int) client.Client { return [number]client.Client{w.tc, w.c, w.tc}[slot] }

// TestValueFromOtherSlot shows that an Object reads what one of another slot keeps and shows, waits for a query about
// it, and follows when that changes, and that it is read from the control plane once for each of its states.
func TestValueFromOtherSlot(t *testing.T) {
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			w := newWorld(t, s)
			source, reader := w.object("source", 0, "one"), w.object("reader", 1, "none")
			from := func(field, to string) commonv1.Reference {
				return commonv1.Reference{ToFieldPath: &to, PatchesFrom: &commonv1.PatchesFrom{
					Name: source.GetName(), FieldPath: field,
				}}
			}
			reader.Desired().References = []commonv1.Reference{
				from("status.atProvider.manifest.data.value", "data.seen"),
				from("spec.forProvider.manifest.data.value", "data.wanted"),
			}
			reader.Desired().References[0].DependsOn = &commonv1.DependsOn{
				Name: source.GetName(), WaitFor: commonv1.WaitForHealthy,
				CelQuery: "object.?status.?atProvider.?manifest.?data.?value.orValue('') == 'one'",
			}
			kube.Create(t, w.c, reader)
			kube.Create(t, w.c, source)
			read := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "reader")}
			for _, value := range []string{"one", "two"} {
				kube.Patch(t, w.c, source, `{"spec":{"forProvider":{"manifest":{"data":{"value":"`+value+`"}}}}}`)
				kube.Await(t, w.server(1), read, "both values to be "+value, func() (bool, string) {
					diff := cmp.Diff(map[string]string{"value": "none", "seen": value, "wanted": value}, read.Data)
					return diff == "", diff
				})
			}
			w.awaitNoRead(t, reader, source)
			kube.Remove(t, w.c, reader)
			kube.Remove(t, w.c, source)
		})
	}
}

// awaitNoRead changes an Object until its reconcile does not read another one, whose state is known by then.
func (w world) awaitNoRead(t *testing.T, o, other build.Object) {
	t.Helper()
	audit, read, changes := local.Audit(t), &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "reader")}, 0
	kube.Eventually(t, "a reconcile that does not read "+other.GetName(), func() (bool, string) {
		changes++
		mark, value := audit.Mark(), strconv.Itoa(changes)
		kube.Patch(t, w.c, o, `{"spec":{"forProvider":{"manifest":{"data":{"value":"`+value+`"}}}}}`)
		kube.Await(t, w.server(1), read, "the change to be applied", func() (bool, string) {
			return read.Data["value"] == value, fmt.Sprint(read.Data)
		})
		requests := audit.Since(mark)
		return !slices.ContainsFunc(requests, func(e cluster.AuditEvent) bool {
			return e.Verb == "get" && e.Name == other.GetName() && strings.HasPrefix(e.User, "replica")
		}), requests.String()
	})
}

// TestLostInOtherSlot shows that an Object which is gone in spite of its finalizer is finished with by its slot,
// although there is one of its name in another slot by then.
func TestLostInOtherSlot(t *testing.T) {
	for _, s := range build.Scopes() {
		t.Run(s.Name, func(t *testing.T) {
			w := newWorld(t, s)
			source := &corev1.ConfigMap{ObjectMeta: build.Meta(w.namespace, "source")}
			kube.Create(t, w.c, source)
			lost := w.object("settings", 0, "lost")
			lost.Desired().References = []commonv1.Reference{{DependsOn: &commonv1.DependsOn{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "source",
			}}}
			cm := &corev1.ConfigMap{ObjectMeta: build.Meta(w.target, "settings")}
			w.lose(t, lost, func() bool {
				return w.tc.Get(t.Context(), client.ObjectKeyFromObject(cm), cm) == nil &&
					w.tc.Patch(t.Context(), cm, client.RawPatch(types.MergePatchType,
						[]byte(`{"metadata":{"finalizers":["example.org/hold"]}}`))) == nil
			})
			next := w.object("settings", 1, "next")
			kube.Create(t, w.c, next)
			provider.AwaitReady(t, w.c, next)
			kube.Patch(t, w.tc, cm, `{"metadata":{"finalizers":null}}`)
			kube.AwaitGone(t, w.tc, cm)
			kube.Await(t, w.c, source, "no finalizer on what the lost Object referred to", func() (bool, string) {
				return len(source.GetFinalizers()) == 0, strings.Join(source.GetFinalizers(), ", ")
			})
			kube.Remove(t, w.c, next)
		})
	}
}

// lose creates an Object and deletes it so that it is gone in spite of its finalizer, once it is ready and a function
// returns true.
func (w world) lose(t *testing.T, o build.Object, when func() bool) {
	t.Helper()
	held := local.HoldDeletion(t, w.scope.Resource, func(n types.NamespacedName) bool {
		now := w.scope.New()
		return w.c.Get(t.Context(), n, now) == nil &&
			now.GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue && when()
	})
	o.SetLabels(held.Labels)
	o.SetAnnotations(map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	kube.Create(t, w.c, o) // Without a finalizer as long as it is paused.
	awaitEnd := held.Delete(t, w.c, o)
	kube.Patch(t, w.c, o, `{"metadata":{"annotations":{"`+meta.AnnotationKeyReconciliationPaused+`":null}}}`)
	awaitEnd()
	kube.AwaitGone(t, w.c, o)
}

// TestMovers shows that Objects which move between slots, change, go and come back all the time have one resource each
// in the end, where they refer to.
func TestMovers(t *testing.T) {
	w := newWorld(t, build.Cluster())
	var busy sync.WaitGroup
	for i := range movers {
		busy.Go(func() {
			for range moves {
				if err := w.move(t.Context(), "mover-"+strconv.Itoa(i)); err != nil && t.Context().Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	busy.Wait()
	kube.Eventually(t, "each Object to have its resource, and no other", func() (bool, string) {
		var want, got [2]map[string]string
		objects, waits := &objectv1alpha2.ObjectList{}, 0
		kube.List(t, w.c, objects)
		for i := range 2 {
			want[i], got[i] = map[string]string{}, map[string]string{}
			there := &corev1.ConfigMapList{}
			kube.List(t, w.server(i), there, client.InNamespace(w.target), client.HasLabels{commonv1.LabelKeyManaged})
			for _, cm := range there.Items {
				got[i][cm.GetName()] = cm.Data["value"]
			}
			for j := range objects.Items {
				o := &objects.Items[j]
				if o.Spec.ProviderConfigReference.Name == w.configs[i] {
					_, value, _ := strings.Cut(string(o.Spec.ForProvider.Manifest.Raw), `"value":"`)
					value, _, _ = strings.Cut(value, `"`)
					want[i][strings.TrimPrefix(o.GetName(), w.target+"-")] = value
					if o.GetCondition(xpv2.TypeReady).Status != corev1.ConditionTrue || o.GetDeletionTimestamp() != nil {
						waits++
					}
				}
			}
		}
		diff := cmp.Diff(want, got)
		return diff == "" && waits == 0, fmt.Sprintf("%d wait; ConfigMaps: -want, +got:\n%s", waits, diff)
	})
}

// move creates an Object, deletes it, or has it refer to the ProviderConfig of a slot and want a value.
func (w world) move(ctx context.Context, name string) error {
	o, to, value := w.object(name, rand.IntN(2), "new"), rand.IntN(2), strconv.Itoa(rand.Int())
	if err := client.IgnoreAlreadyExists(w.c.Create(ctx, o)); err != nil {
		return err
	}
	if rand.IntN(8) == 0 {
		return client.IgnoreNotFound(w.c.Delete(ctx, o))
	}
	err := w.c.Patch(ctx, o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"spec":{"providerConfigRef":{"name":%q},"forProvider":{"manifest":{"data":{"value":%q}}}}}`,
		w.configs[to], value)))
	return client.IgnoreNotFound(err)
}
