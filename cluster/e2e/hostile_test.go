package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/hostile"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
	"github.com/crossplane-contrib/provider-kcp/internal/test/program"
)

// canary is part of all that the lying target says.
const canary = "canary-of-a-target"

// TestHostileTargets shows that Objects of a good target become Ready beside a dead, a slow and a lying one, that the
// Objects of these say what is wrong and are well once their targets are, and that what the lying one says is in no
// condition, event, log or metric.
func TestHostileTargets(t *testing.T) {
	const each = 20
	c, _ := clients(t)
	p := start(t, "--debug")
	s, tns := build.Namespaced(), targetNamespace(t)
	behind := func(mode string) (*hostile.Server, *rest.Config) {
		server := hostile.NewServer(t, target.User(t, user, admins), hostile.Options{Canary: canary})
		server.Set(hostile.Find(t, mode))
		return server, server.Config()
	}
	crowd := func(name string, cfg *rest.Config) (all []build.Object) {
		ns := local.Namespace(t)
		kube.Create(t, c, build.Credentials(ns, ns, kube.Kubeconfig(t, cfg)))
		connect(t, c, s, ns)
		for i := range each {
			name := fmt.Sprintf("%s-%d", name, i)
			o := s.Object(ns, name, ns, build.ConfigMap(tns, name, "color", "blue"))
			kube.Create(t, c, o)
			all = append(all, o)
		}
		return all
	}
	slow, slowConfig := behind("Slow")
	lying, lyingConfig := behind("ForeignKind")
	dead := crowd("dead", &rest.Config{Host: "https://" + kube.BlackHole(t)})
	sick := append(crowd("slow", slowConfig), crowd("lying", lyingConfig)...)
	for _, o := range crowd("good", target.User(t, user, admins)) {
		awaitReady(t, c, o)
	}
	awaitReason(t, c, dead[0], commonv1.ReasonTargetUnreachable)
	awaitReason(t, c, sick[0], commonv1.ReasonTargetUnreachable)
	awaitReason(t, c, sick[each], xpv2.ReasonReconcileError) // It is no Kubernetes.
	showsNothing(t, p.Log(), get(t, p.Metrics()), fmt.Sprint(sick[each].GetCondition(xpv2.TypeSynced)))
	events := &corev1.EventList{}
	kube.List(t, c, events)
	for _, e := range events.Items {
		showsNothing(t, e.Message)
	}
	slow.Heal()
	lying.Heal()
	for _, o := range sick {
		awaitReady(t, c, o)
	}
	program.AwaitReady(t, p)
}

// showsNothing checks that texts repeat nothing of what the lying target says.
func showsNothing(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if strings.Contains(line, canary) {
				t.Errorf("want nothing of the lying target shown, got %s", line)
			}
		}
	}
}

// get returns what an address of the program answers.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url) //nolint:noctx // It is on this machine.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
