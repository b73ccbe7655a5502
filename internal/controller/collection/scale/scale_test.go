// Package scale_test shows what large collections cost, on servers that nobody else uses.
package scale_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pkg/errors"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/apis"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/provider"
)

const (
	user   = "provider"
	admins = "system:masters"
	// many is how many resources a large collection selects.
	many = 2000
	// eventually is how long anything may take that takes many writes; a busy machine is slower than the software.
	eventually = 5 * time.Minute
	// polls is longer than three poll intervals of these tests, 5 s with no jitter.
	polls = 16 * time.Second
	// listInterval is the pause between lists of large collections, which would slow down what makes them.
	listInterval = 2 * time.Second
	// lookInterval is the pause between looks at the requests.
	lookInterval = 500 * time.Millisecond
	// silence is how long nothing must happen for all to count as settled.
	silence = 8 * time.Second
)

var local, target kube.Server

func TestMain(m *testing.M) { os.Exit(kube.Run(m, &local, &target)) }

var startProvider sync.Once

func provide(t *testing.T) client.Client {
	t.Helper()
	startProvider.Do(func() {
		local.InstallCRDs(t, filepath.Join("..", "..", "..", "..", "package", "crds"))
		provider.Start(t, local.User(t, user, admins))
	})
	return local.Client(t, apis.AddToScheme)
}

// connect makes a ProviderConfig from a kubeconfig and returns its name, which is that of a namespace.
func connect(t *testing.T, c client.Client, s build.CollectionScope, kubeconfig []byte) string {
	t.Helper()
	ns := local.Namespace(t)
	kube.Create(t, c, build.Credentials(ns, "credentials", kubeconfig),
		s.Config(ns, ns, build.FromSecret(ns, "credentials")))
	return ns
}

// populate creates ConfigMaps with a label in a namespace, some at a time.
func populate(t *testing.T, namespace, label string, count int) {
	t.Helper()
	c := target.Client(t)
	const workers = 20
	var group sync.WaitGroup
	failures := make(chan error, workers)
	for w := range workers {
		group.Go(func() {
			for i := w; i < count; i += workers {
				if err := c.Create(t.Context(), configMap(namespace, fmt.Sprintf("cm-%05d", i), label)); err != nil {
					failures <- errors.Wrapf(err, "cannot create ConfigMap %d", i)
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
}

func configMap(namespace, name, label string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: build.Meta(namespace, name), Data: map[string]string{"name": name}}
	cm.SetLabels(map[string]string{"team": label})
	return cm
}

// count returns how many members a collection has, and how many of them are ready.
func count(t *testing.T, c client.Client, s build.CollectionScope, collection string) (members, ready int) {
	t.Helper()
	list := s.NewList()
	kube.List(t, c, list, client.MatchingLabels{"kubernetes.crossplane.io/owned-by-collection": collection})
	_ = apimeta.EachListItem(list, func(o runtime.Object) error {
		members++
		if o.(build.Object).GetCondition(xpv2.TypeReady).Status == corev1.ConditionTrue {
			ready++
		}
		return nil
	})
	return members, ready
}

// awaitReady waits until a collection has all of many members and they are ready.
func awaitReady(t *testing.T, c client.Client, s build.CollectionScope, collection string) {
	t.Helper()
	var looked time.Time
	var members, ready int
	kube.EventuallyBy(t, eventually, "all members to be ready", func() (bool, string) {
		if time.Since(looked) >= listInterval {
			looked = time.Now()
			members, ready = count(t, c, s, collection)
		}
		return members == many && ready == many, fmt.Sprintf("%d members, %d ready", members, ready)
	})
}

// awaitUses waits until it is recorded that all members use their ProviderConfig, as their collection does: records
// wait for what is more urgent.
func awaitUses(t *testing.T, c client.Client, s build.CollectionScope, config string) {
	t.Helper()
	pc := s.Config(config, config, commonv1.ProviderConfigSpec{})
	kube.EventuallyBy(t, eventually, "all members to be recorded as users of their ProviderConfig",
		func() (bool, string) {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pc), pc); err != nil {
				return false, err.Error()
			}
			users := pc.(resource.ProviderConfig).GetUsers()
			return users == many+1, fmt.Sprintf("%d users", users)
		})
}

// requests counts the requests of the provider on both servers.
type requests struct {
	local, target kube.Audit
	marks         [2]kube.Mark
}

func watchRequests(t *testing.T) *requests {
	t.Helper()
	r := &requests{local: local.Audit(t), target: target.Audit(t)}
	r.mark()
	return r
}

func (r *requests) mark() { r.marks = [2]kube.Mark{r.local.Mark(), r.target.Mark()} }

// by returns the requests of a user since the last mark.
func (r *requests) by(who string) kube.Requests {
	return append(r.local.Since(r.marks[0]).By(who), r.target.Since(r.marks[1]).By(who)...)
}

// settle waits until the provider has made no request for a while, and returns those it has made since the last mark.
// It marks again.
func (r *requests) settle(t *testing.T) kube.Requests {
	t.Helper()
	var looked, quietSince time.Time
	var all kube.Requests
	kube.EventuallyBy(t, eventually, "no requests", func() (bool, string) {
		// Reading thousands of requests all the time would slow down what makes them.
		if time.Since(looked) < lookInterval {
			return false, fmt.Sprintf("%d requests", len(all))
		}
		looked = time.Now()
		if got := r.by(user); quietSince.IsZero() || len(got) > len(all) {
			all, quietSince = got, looked
		}
		return time.Since(quietSince) > silence, ""
	})
	r.mark()
	return all
}

// TestLargeCollection shows that a collection of 2,000 members is made by one apply for each, costs no request at rest,
// and is found as it is by a provider that starts. provider-kubernetes takes one collection at a time, and applies its
// members one by one at each poll.
func TestLargeCollection(t *testing.T) {
	c := provide(t)
	for _, s := range build.CollectionScopes() {
		t.Run(s.Name, func(t *testing.T) {
			tns := target.Namespace(t)
			pc := connect(t, c, s, kube.Kubeconfig(t, target.User(t, user, admins)))
			populate(t, tns, "a", many)
			r := watchRequests(t)
			oc := s.Collection(pc, tns, pc, build.ConfigMaps(tns, "team", "a"))
			kube.Create(t, c, oc)
			awaitSettled(t, c, oc)
			awaitReady(t, c, s, tns)
			awaitUses(t, c, s, pc)
			made := patches(r.settle(t))
			// One is the apply, the other gives the Object its finalizer.
			if made != 2*many {
				t.Errorf("each member is applied once: want %d patches, got %d", 2*many, made)
			}

			kube.Throughout(t, polls, "no request at rest", func() (bool, string) {
				diff := cmp.Diff(map[string]int{}, r.by(user).Count(), cmpopts.EquateEmpty())
				return diff == "", "-want, +got:\n" + diff
			})
		})
	}
	restart(t)
}

// patches counts the patches of Objects.
func patches(rs kube.Requests) int {
	n := 0
	for _, e := range rs {
		if what := e.Subject(); e.Verb == "patch" &&
			(what == "objects.kubernetes.crossplane.io" || what == "objects.kubernetes.m.crossplane.io") {
			n++
		}
	}
	return n
}

// restart starts another provider, which shows what one does that finds everything as it should be.
func restart(t *testing.T) {
	t.Helper()
	const second = "second"
	r := watchRequests(t)
	r.settle(t)
	provider.Start(t, local.User(t, second, admins))
	kube.EventuallyBy(t, eventually, "the provider to start", func() (bool, string) {
		got := r.local.Watches(r.marks[0]).By(second).Count()
		return got["watch observedobjectcollections.kubernetes.crossplane.io"] > 0 &&
			got["watch observedobjectcollections.kubernetes.m.crossplane.io"] > 0, fmt.Sprint(got)
	})
	kube.Throughout(t, polls, "a provider that starts writes nothing", func() (bool, string) {
		var writes kube.Requests
		for _, e := range r.by(second) {
			if !slices.Contains([]string{"get", "list"}, e.Verb) {
				writes = append(writes, e)
			}
		}
		return len(writes) == 0, writes.String()
	})
}

func awaitSettled(t *testing.T, c client.Client, oc build.Collection) {
	t.Helper()
	kube.EventuallyBy(t, eventually, oc.GetName()+" to be synced", func() (bool, string) {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(oc), oc); err != nil {
			return false, err.Error()
		}
		cond := oc.GetCondition("Synced")
		return cond.Status == "True", cond.Message
	})
}
