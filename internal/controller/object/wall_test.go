package object_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	// sickObjects are more Objects than there are workers.
	sickObjects = 60
	// internalSecret is what a server has that is none of Kubernetes, and that no tenant may see.
	internalSecret = "node-role-secret-123"
)

// single are the verbs of requests about single resources.
var single = []hostile.Verb{hostile.Get, hostile.Create, hostile.Patch, hostile.Delete}

// behind makes a world whose target is behind a server that can be made sick.
func behind(t *testing.T, c client.Client, s build.Scope) (world, *hostile.Server) {
	t.Helper()
	server := hostile.NewServer(t, targetUser(t), hostile.Options{Canary: internalSecret})
	return newWorldOf(t, c, s, server.Config()), server
}

// askAnew replaces the connection of a world, so that all is asked anew, and waits until its sick server has answered.
func (w world) askAnew(t *testing.T, sick *hostile.Server) {
	t.Helper()
	other := append(kube.Kubeconfig(t, sick.Config()), "\n# Other credentials.\n"...)
	setKubeconfig(t, w.c, w.namespace, "credentials", other)
	awaitHits(t, sick, 1)
}

// awaitHits waits until a server has answered in the target's place so often.
func awaitHits(t *testing.T, sick *hostile.Server, least int) {
	t.Helper()
	kube.Eventually(t, "requests to the sick target", func() (bool, string) {
		n := sick.Hits()
		return n >= least, strconv.Itoa(n)
	})
}

// awaitNeighbour checks that an Object of a healthy target is ready.
func awaitNeighbour(t *testing.T, c client.Client, s build.Scope) {
	t.Helper()
	w := newWorld(t, c, s)
	w.keep(t, build.ConfigMap(w.target, "settings"))
}

// showsNothing checks that neither an Object nor any event repeats what an internal server has.
func showsNothing(t *testing.T, c client.Client, o build.Object) {
	t.Helper()
	events := &corev1.EventList{}
	kube.List(t, c, events)
	kube.Get(t, c, client.ObjectKeyFromObject(o), o)
	shown := []string{conditions(o), fmt.Sprint(o.Observed())}
	for _, e := range events.Items {
		shown = append(shown, e.Reason+": "+e.Message)
	}
	for _, text := range shown {
		if strings.Contains(text, internalSecret) {
			t.Errorf("want nothing of the internal server shown, got %s", text)
		}
	}
}

// forsake takes Objects away without their target.
func forsake(t *testing.T, c client.Client, objs ...build.Object) {
	t.Helper()
	for _, o := range objs {
		kube.Delete(t, c, o)
		unpin(t, c, o)
	}
}

// nowhere returns the configuration of a server at an address that is none.
func nowhere(addr string) *rest.Config { return &rest.Config{Host: "https://" + addr} }

// TestDeadTargetDelaysNoOther shows that 300 Objects of a server which never answers do not keep 20 Objects of another
// from being ready.
func TestDeadTargetDelaysNoOther(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		dead := newWorldOf(t, c, s, nowhere(kube.BlackHole(t))).crowd(t, 300)
		awaitReady(t, c, newWorld(t, c, s).crowd(t, 20)...)
		for _, o := range dead {
			awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable))
		}
		forsake(t, c, dead...)
	})
}

// TestSickTargetsDelayNoOther shows that an Object gets ready beside hundreds whose targets answer everything but the
// requests about single resources: TestShares of package fairqueue shows how many workers these get. They say what is
// wrong, and are kept once their targets answer.
func TestSickTargetsDelayNoOther(t *testing.T) {
	const targets, each = 6, 60
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		var all []build.Object
		var servers []*hostile.Server
		for range targets {
			w, server := behind(t, c, s)
			server.Set(hostile.Find(t, "StallAnswer"), single...)
			all, servers = append(all, w.crowd(t, each)...), append(servers, server)
		}
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, all[len(all)-1], failed(commonv1.ReasonTargetUnreachable))
		for _, server := range servers {
			server.Heal()
		}
		awaitReady(t, c, all...)
	})
}

// TestStalledDiscoveryHoldsNoWorker shows that a target which never ends its answer to a discovery holds no workers.
func TestStalledDiscoveryHoldsNoWorker(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		objs := w.crowd(t, sickObjects)
		awaitReady(t, c, objs...)
		server.Set(hostile.Find(t, "StallGroups"), hostile.Discovery)
		w.askAnew(t, server)
		kube.Delete(t, c, plain(objs)...)
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, objs[0], failed(commonv1.ReasonTargetUnreachable), "responds too slowly")
		server.Heal()
		kube.AwaitGone(t, c, plain(objs)...)
	})
}

// TestStalledBodiesHoldNoWorker shows that a target which dies in the middle of its answers holds no workers.
func TestStalledBodiesHoldNoWorker(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		dies := hostile.Find(t, "StallBody")
		server.Set(dies, single...)
		objs := w.crowd(t, sickObjects)
		awaitHits(t, server, 1)
		server.Set(dies)
		awaitNeighbour(t, c, s)
		awaitCondition(t, c, objs[0], failed(commonv1.ReasonTargetUnreachable))
		forsake(t, c, objs...)
	})
}

// TestRedirectsReachNobody shows that a target cannot have the provider read or write elsewhere.
func TestRedirectsReachNobody(t *testing.T) {
	c := provide(t)
	reads := []hostile.Verb{hostile.Discovery, hostile.Get, hostile.List, hostile.Watch}
	for name, tc := range map[string]struct {
		mode  string
		verbs []hostile.Verb
	}{"Read": {"Redirect302", reads}, "Write": {"Redirect307", []hostile.Verb{hostile.Create, hostile.Patch}}} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				internal := hostile.NewSink(t, internalSecret)
				server := hostile.NewServer(t, targetUser(t), hostile.Options{Canary: internalSecret, Redirect: internal})
				server.Set(hostile.Find(t, tc.mode), tc.verbs...)
				w := newWorldOf(t, c, s, server.Config())
				o := w.object(build.ConfigMap(w.target, "settings"))
				kube.Create(t, c, o)
				awaitCondition(t, c, o, failed(""), "redirect")
				if got := internal.Requests(); len(got) > 0 {
					t.Errorf("requests to the internal server: want none, got %q", got)
				}
				showsNothing(t, c, o)
				server.Heal()
				awaitReady(t, c, o)
			})
		})
	}
}

// TestInternalServerStaysUnseen shows that nothing of a server that is none of Kubernetes is shown to anyone who points
// a kubeconfig at it.
func TestInternalServerStaysUnseen(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		server.Set(hostile.Find(t, "ForeignKind"))
		o := w.object(build.ConfigMap(w.target, "settings"))
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(""), "not like a Kubernetes API server")
		showsNothing(t, c, o)
		server.Heal()
		awaitReady(t, c, o)
	})
}

// TestDeniedAddress shows that an address of the host itself is for operators only, and that a tenant is told the rule
// and the flag.
func TestDeniedAddress(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		cfg := kube.Front(t, targetUser(t), func(server http.Handler) http.Handler { return server })
		w := newWorldOf(t, c, s, &rest.Config{Host: strings.Replace(cfg.Host, "127.0.0.1", "0.0.0.0", 1)})
		o := w.object(build.ConfigMap(w.target, "settings"))
		kube.Create(t, c, o)
		if s.Name != build.Cluster().Name {
			awaitCondition(t, c, o, failed(commonv1.ReasonInvalidConnection), "0.0.0.0/8", "--allowed-target-cidrs")
			setKubeconfig(t, c, w.namespace, "credentials", kube.Kubeconfig(t, cfg))
		}
		awaitReady(t, c, o)
	})
}

// TestForeignAnswerToDeletion shows that a resource is not taken for deleted because of what a proxy answers.
func TestForeignAnswerToDeletion(t *testing.T) {
	c := provide(t)
	for name, answer := range map[string]http.HandlerFunc{
		"NotFound": http.NotFound,
		"Success":  func(http.ResponseWriter, *http.Request) {},
		"SuccessJSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopes(t, func(t *testing.T, s build.Scope) {
				var sick atomic.Bool
				w := newWorldOf(t, c, s, kube.Front(t, targetUser(t), func(server http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.Method == http.MethodDelete && sick.Load() {
							answer(w, r)
						} else {
							server.ServeHTTP(w, r)
						}
					})
				}))
				o := w.keep(t, build.ConfigMap(w.target, "settings"))
				sick.Store(true)
				w.removeInVain(t, o)
				if told := eventsFor(t, c, o, "DeletedExternalResource"); len(told) > 0 {
					t.Errorf("no event says that it is deleted: got %s", told)
				}
				sick.Store(false)
				kube.AwaitGone(t, c, o)
			})
		})
	}
}

// removeInVain deletes an Object whose target does not answer as an API server does. The Object says so, and its
// resource stays.
func (w world) removeInVain(t *testing.T, o build.Object) {
	t.Helper()
	kube.Delete(t, w.c, o)
	awaitCondition(t, w.c, o, failed(""), "not like a Kubernetes API server")
	w.exists(t, emptySettings(w.target), true)
}

// TestForeignNotFoundIsNotAbsent shows that an Object does not go without its resource because a proxy answers in the
// target's place.
func TestForeignNotFoundIsNotAbsent(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		server.Set(hostile.Find(t, "Status404"))
		w.askAnew(t, server)
		w.removeInVain(t, o)
		server.Heal()
		kube.AwaitGone(t, c, o)
	})
}

// TestBombIsNotRead shows what users see of a target whose answers are too large.
func TestBombIsNotRead(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		server.Set(hostile.Find(t, "BombGzip"), single...)
		o := w.object(build.ConfigMap(w.target, "settings"))
		kube.Create(t, c, o)
		awaitCondition(t, c, o, failed(""),
			"response of the server has more than "+map[string]string{"Cluster": "8 MiB", "Namespaced": "4 MiB"}[s.Name])
		server.Heal()
		awaitReady(t, c, o)
	})
}

// TestDeletionBesideMuteWatch shows that an Object goes with its resource although the watch, which a proxy keeps open,
// tells nothing any more.
func TestDeletionBesideMuteWatch(t *testing.T) {
	c := provide(t)
	forScopes(t, func(t *testing.T, s build.Scope) {
		w, server := behind(t, c, s)
		o := w.keep(t, build.ConfigMap(w.target, "settings"))
		server.Set(hostile.Find(t, "Mute"), hostile.Watch)
		kube.Remove(t, c, o)
		kube.AwaitGone(t, w.tc, emptySettings(w.target))
	})
}

// TestOrphanWithoutCredentials shows that a deleted Object with unreachableTarget: Orphan goes soon although its
// watches go on, when the target does not accept its credentials any more.
func TestOrphanWithoutCredentials(t *testing.T) {
	c, tc := provide(t), target.Client(t)
	account, cfg := robot(t, tc)
	w := newWorldOf(t, c, build.Namespaced(), cfg)
	o := w.object(build.ConfigMap(w.target, "settings", "color", "blue"))
	o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
	createReady(t, c, o)

	kube.Delete(t, tc, account)
	awaitDenied(t, cfg, w.target, apierrors.IsUnauthorized)
	kube.Remove(t, c, o)
	w.awaitData(t, "settings", "color", "blue")
}

// TestExpiredCertificateIsToldOnce shows that an Object whose target has an expired certificate says so by one write of
// its status and one event, although each probe of the target fails with another text, which tells the current time.
func TestExpiredCertificateIsToldOnce(t *testing.T) {
	c := provide(t)
	forScopesBeside(t, func(t *testing.T, s build.Scope) {
		server := hostile.NewServer(t, targetUser(t), hostile.Options{})
		server.Set(hostile.Find(t, "CertificateExpired"))
		o := newWorldOf(t, c, s, server.Config()).object(build.ConfigMap("any", "settings"))
		kube.Create(t, c, o)
		message := awaitCondition(t, c, o, failed(commonv1.ReasonTargetUnreachable), "certificate has expired")
		awaitHits(t, server, server.Hits()+3) // Further probes.
		staysUnwritten(t, c, o)
		if got := o.GetCondition(xpv2.TypeSynced).Message; got != message {
			t.Errorf("message: want %q, got %q", message, got)
		}
		kube.Eventually(t, "one event", func() (bool, string) {
			got := events(t, c, o, "certificate has expired")
			return len(got) == 1, strings.Join(got, "\n")
		})
		forsake(t, c, o)
	})
}
