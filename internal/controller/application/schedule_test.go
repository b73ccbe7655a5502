package application_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mpcv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/providerconfig/v1alpha1"
	workloadv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/namespaced/workload/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// good returns a kubeconfig of the target.
func good(t *testing.T) []byte {
	t.Helper()
	return kube.Kubeconfig(t, target.User(t, user, admins))
}

// dead returns a kubeconfig of a server that is not there.
func dead(t *testing.T) []byte {
	t.Helper()
	return kube.Kubeconfig(t, &rest.Config{Host: "https://" + kube.Refused(t)})
}

// refused returns a kubeconfig of the target with a token that it does not know.
func refused(t *testing.T) []byte {
	t.Helper()
	cfg := rest.AnonymousClientConfig(target.User(t, user, admins))
	cfg.BearerToken = "unknown"
	return kube.Kubeconfig(t, cfg)
}

// stranger returns a kubeconfig of the target as a user of a name to whom it shows nothing, not even what it serves.
func stranger(t *testing.T, name string) []byte {
	t.Helper()
	cfg := target.User(t, user, admins)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:unauthenticated"}}
	return kube.Kubeconfig(t, cfg)
}

// unconnected returns a world without a ProviderConfig.
func unconnected(t *testing.T) world {
	t.Helper()
	return world{c: provide(t), tc: target.Client(t), ns: local.Namespace(t), tns: target.Namespace(t)}
}

// shared makes a ClusterProviderConfig with the label tier of the world.
func (w world) shared(t *testing.T, name string, kubeconfig []byte) *mpcv1alpha1.ClusterProviderConfig {
	t.Helper()
	pc := build.ClusterConfig(name, build.FromSecret(w.ns, name))
	pc.SetLabels(map[string]string{"tier": w.ns})
	kube.Create(t, w.c, secret(w.ns, name, "kubeconfig", string(kubeconfig)), pc)
	return pc
}

// schedule creates an application, and returns the cluster it is scheduled to when it is submitted.
func (w world) schedule(t *testing.T, name string) workloadv1alpha1.ClusterReference {
	t.Helper()
	app := w.application(name, w.settings(name))
	w.submit(t, app)
	return *app.Spec.ClusterRef
}

// TestScheduleWaits shows that an application which no cluster fits is Pending and says why, and is scheduled when one
// appears.
func TestScheduleWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*testing.T, world)
		says   string
		cure   func(*testing.T, world)
	}{
		"NoCluster": {
			before: func(*testing.T, world) {}, says: "matches spec.clusterSelector",
			cure: func(t *testing.T, w world) { w.connect(t, "late", good(t)) },
		},
		"OtherLabel": {
			before: func(t *testing.T, w world) { w.labelled(t, "labelled", "other", good(t)) },
			says:   "matches spec.clusterSelector",
			cure: func(t *testing.T, w world) {
				pc := &mpcv1alpha1.ProviderConfig{ObjectMeta: build.Meta(w.ns, "labelled")}
				change(t, w.c, pc, func(pc *mpcv1alpha1.ProviderConfig) { pc.Labels["tier"] = w.ns })
			},
		},
		"OtherNamespace": {
			before: func(t *testing.T, w world) {
				other := w
				other.ns = local.Namespace(t)
				other.labelled(t, "elsewhere", w.ns, good(t))
			}, says: "matches spec.clusterSelector",
			cure: func(t *testing.T, w world) { w.shared(t, w.ns+"-late", good(t)) },
		},
		"DoesNotAnswer": {
			before: func(t *testing.T, w world) { w.connect(t, "dead", dead(t)) },
			says:   "none of 1 clusters that match spec.clusterSelector responds",
			cure: func(t *testing.T, w world) {
				kube.Update(t, w.c, secret(w.ns, "dead-credentials", "kubeconfig", string(good(t))))
			},
		},
		"Refused": {
			before: func(t *testing.T, w world) { w.connect(t, "refused", refused(t)) },
			says:   "renew the Secret, or other source, that it names: cannot discover groups",
			cure: func(t *testing.T, w world) {
				kube.Update(t, w.c, secret(w.ns, "refused-credentials", "kubeconfig", string(good(t))))
			},
		},
		"Stranger": {
			before: func(t *testing.T, w world) { w.connect(t, "stranger", stranger(t, w.tns)) },
			says:   `cannot get path "/api"`,
			cure: func(t *testing.T, w world) {
				kube.Update(t, w.c, secret(w.ns, "stranger-credentials", "kubeconfig", string(good(t))))
			},
		},
		"NoCredentials": {
			before: func(t *testing.T, w world) {
				w.connect(t, "bare", nil)
				kube.Delete(t, w.c, secret(w.ns, "bare-credentials"))
			}, says: "does not exist",
			cure: func(t *testing.T, w world) {
				kube.Create(t, w.c, secret(w.ns, "bare-credentials", "kubeconfig", string(good(t))))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := unconnected(t)
			tc.before(t, w)
			app := w.application("web", w.settings("web"))
			kube.Create(t, w.c, app)
			// Until a ProviderConfig is known here, it is said that there is none.
			kube.Eventually(t, "an application that says: "+tc.says, func() (bool, string) {
				awaitState(t, w.c, app, workloadv1alpha1.StatePending)
				c := app.GetCondition(xpv2.TypeSynced)
				return c.Reason == workloadv1alpha1.ReasonUnschedulable &&
					strings.Contains(c.Message, tc.says), said(app)
			})
			if app.Status.DesiredResources != 1 {
				t.Errorf("want 1 resource, got %s", said(app))
			}
			if app.Spec.ClusterRef != nil {
				t.Errorf("it must not be scheduled yet: %v", *app.Spec.ClusterRef)
			}
			tc.cure(t, w)
			awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
		})
	}
}

// TestScheduleBesideStalled shows that clusters which answer nothing but probes delay no application of another
// namespace: all of them together take longer than is waited for here.
func TestScheduleBesideStalled(t *testing.T) {
	const stalled = 70
	w := unconnected(t)
	var asked atomic.Bool
	cfg := kube.Front(t, target.User(t, user, admins), func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api" {
				server.ServeHTTP(rw, r)
				return
			}
			asked.Store(true)
			<-r.Context().Done()
		})
	})
	for i := range stalled {
		w.connect(t, "stalled-"+strconv.Itoa(i), kube.Kubeconfig(t, cfg))
	}
	kube.Create(t, w.c, w.application("web", w.settings("web")))
	kube.Eventually(t, "a cluster to be asked", func() (bool, string) { return asked.Load(), "none is" })
	neighbour := newWorld(t)
	neighbour.submit(t, neighbour.application("web", neighbour.settings("web")))
}

// TestScheduleSpreads shows that each application goes to the healthy cluster with the fewest applications, a
// ClusterProviderConfig as well as one of the namespace, and that a deleted application no longer counts.
func TestScheduleSpreads(t *testing.T) {
	w := unconnected(t)
	w.connect(t, "a-dead", dead(t))
	w.connect(t, "a-refused", refused(t))
	w.connect(t, "a-stranger", stranger(t, w.tns))
	w.connect(t, "b", good(t))
	w.connect(t, "c", good(t))
	w.shared(t, "a-"+w.ns, good(t))
	on := map[string]int{}
	var last string
	for i := range 6 {
		last = w.schedule(t, "web-"+strconv.Itoa(i)).Name
		on[last]++
	}
	if diff := cmp.Diff(map[string]int{"b": 2, "c": 2, "a-" + w.ns: 2}, on); diff != "" {
		t.Errorf("applications on each cluster: -want, +got:\n%s", diff)
	}
	gone := w.application("web-5")
	kube.Remove(t, w.c, gone)
	if got := w.schedule(t, "web-6"); got.Name != last {
		t.Errorf("want the cluster of the deleted application, %s, got %s", last, got.Name)
	}
}

// TestScheduleByExpression shows that matchExpressions count, and that an invalid one is said to be.
func TestScheduleByExpression(t *testing.T) {
	w := unconnected(t)
	w.connect(t, "a", good(t))
	pc := w.connect(t, "b", good(t))
	change(t, w.c, pc, func(pc *mpcv1alpha1.ProviderConfig) { pc.Labels["region"] = "eu" })
	app := w.application("web", w.settings("web"))
	app.Spec.ClusterSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{
		Key: "region", Operator: metav1.LabelSelectorOpIn, Values: []string{"eu"},
	}}
	w.submit(t, app)
	if got := app.Spec.ClusterRef.Name; got != "b" {
		t.Errorf("want the cluster that both labels and expressions match, b, got %s", got)
	}
	bad := w.application("bad", w.settings("bad"))
	bad.Spec.ClusterSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "region", Operator: "Near"}}
	kube.Create(t, w.c, bad)
	awaitState(t, w.c, bad, workloadv1alpha1.StatePending)
	if m := bad.GetCondition(xpv2.TypeSynced).Message; !strings.Contains(m, "cannot parse spec.clusterSelector") {
		t.Errorf("want a message about the selector, got %q", m)
	}
}

// TestScheduleIsFinal shows that an application stays where it is when the labels of its cluster change, and that a
// cluster which is set by the user is not questioned.
func TestScheduleIsFinal(t *testing.T) {
	w := unconnected(t)
	pc := w.connect(t, "a", good(t))
	app := w.application("web", w.settings("web"))
	w.submit(t, app)
	change(t, w.c, pc, func(pc *mpcv1alpha1.ProviderConfig) { pc.Labels["tier"] = "other" })
	change(t, w.c, app, func(app *application) { app.Spec.ResourceTemplates[0] = w.settings("web", "color", "red") })
	awaitState(t, w.c, app, workloadv1alpha1.StateSubmitted)
	if cm := w.configMap(t, "web"); cm.Data["color"] != "red" || app.Spec.ClusterRef.Name != "a" {
		t.Errorf("want the application kept on a: %v, %s", cm.Data, said(app))
	}
	preset := w.application("preset", w.settings("preset"))
	preset.Spec.ClusterRef = &workloadv1alpha1.ClusterReference{Name: "a"}
	w.submit(t, preset)
}

// TestClusterInUseStays shows that the ProviderConfig of a cluster outlives the applications on it, and keeps their
// resources deletable.
func TestClusterInUseStays(t *testing.T) {
	t.Parallel()
	w := unconnected(t)
	pc := w.shared(t, "a-"+w.ns, good(t))
	app := w.application("web", w.settings("web"))
	w.submit(t, app)
	kube.Delete(t, w.c, pc)
	kube.Holds(t, "the ProviderConfig stays", func() (bool, string) {
		err := w.c.Get(t.Context(), client.ObjectKeyFromObject(pc), pc)
		return err == nil, "it is gone"
	}, func() { passQueues(t) })
	late := w.application("late", w.settings("late"))
	kube.Create(t, w.c, late)
	awaitState(t, w.c, late, workloadv1alpha1.StatePending)
	kube.Delete(t, w.c, app)
	kube.AwaitGone(t, w.c, app, pc)
	if w.configMap(t, "web") != nil {
		t.Error("the resource must be deleted before the ProviderConfig goes")
	}
}
