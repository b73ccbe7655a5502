package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// page is the guide of the takeover.
const page = "../../docs/how-to/migrate-from-provider-kubernetes.md"

// TestTakeoverAndWayBack shows that the commands of the guide lead from provider-kubernetes, which was stopped, to this
// provider and back. It takes over all Objects and harms nothing, and provider-kubernetes knows them afterwards, and
// those made meanwhile.
func TestTakeoverAndWayBack(t *testing.T) {
	p, c, tc := installed(t)
	at := newBed(t, c)
	all := subjects(at)
	legacy(t, p, c, tc, all, at.namespace)
	former, before, published := specs(t, c, all), snapshot(t, tc, all), at.connectionSecrets(t, c, all)

	m := mark(t)
	shell := guide.NewShell(t, local.Config(), filepath.Join("..", "..", "package"))
	shell.Env = append(shell.Env, "CRDS="+p.crds)
	forth := guide.Commands(t, page, "### Without Crossplane")
	definitions, _, _ := strings.Cut(forth[0], "\n") // The next line starts this provider.
	shell.Run(t, definitions)
	shell.Run(t, forth[1])
	awaitSchema(t, c, at.config)
	process := start(t)
	awaitTaken(t, c, all)
	awaitSilence(t)
	awaitSynced(t, c, all)
	checkUnharmed(t, all, before, snapshot(t, tc, all))
	checkRequests(t, m, all, at.config)
	checkHeld(t, c, all)
	if diff := cmp.Diff(published, at.connectionSecrets(t, c, all)); diff != "" {
		t.Errorf("connection secrets after the takeover: -before, +after:\n%s", diff)
	}

	process.Kill()
	m = mark(t)
	process = start(t)
	awaitSilence(t)
	if got := append(m.onTarget(t), m.onLocal(t)...).Writes(); len(got) > 0 {
		t.Errorf("writes after the next start: want none, got\n%s", got)
	}
	for _, s := range shrink(t, c, tc, all) {
		delete(former, s.GetName())
	}
	asBefore := those(all, func(s *subject) bool { return former[s.GetName()] != "" })
	all = append(all, goBack(t, c, tc, all, at, shell, p, process)...)
	if diff := cmp.Diff(former, specs(t, c, asBefore)); diff != "" {
		t.Errorf("Objects that provider-kubernetes has made: -before, +back again:\n%s", diff)
	}
	leave(t, c, tc, all)
}

// awaitSchema waits until the control plane knows fields which provider-kubernetes does not have: until then it would
// drop them.
func awaitSchema(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	for _, s := range build.Scopes() {
		kube.Eventually(t, "the schema to be ours", func() (bool, string) {
			o := s.Object(namespace, "probe", namespace, build.ConfigMap(namespace, "probe"))
			o.Desired().UnreachableTarget = commonv1.UnreachableTargetWait
			err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			return err == nil, fmt.Sprint(err)
		})
	}
}

var ourCRDs = filepath.Join("..", "..", "package", "crds")

// legacy lets provider-kubernetes make all Objects: some by server-side apply, some client-side, and some first in one
// way, then in the other.
func legacy(t *testing.T, p peer, c, tc client.Client, all []*subject, namespace string) {
	t.Helper()
	byServer := func(s *subject) bool { return s.byServer }
	byClient := func(s *subject) bool { return s.byClient }
	run := func(some []*subject, args ...string) {
		process := p.start(t, append(args, "--enable-watches", "--poll=2s")...)
		// The webhook of the peer takes a moment.
		kube.Eventually(t, "all Objects to be created", func() (bool, string) {
			err := each(len(some), func(i int) error { return some[i].create(t.Context(), c, tc, namespace) })
			return err == nil, fmt.Sprint(err)
		})
		awaitMade(t, c, some)
		if err := process.Stop(); err != nil {
			t.Error(err)
		}
	}
	run(those(all, byServer))
	byServerOnly := those(all, func(s *subject) bool { return !s.byClient })
	pause(t, c, byServerOnly, `"true"`)
	run(those(all, byClient), "--no-enable-server-side-apply")
	pause(t, c, byServerOnly, "null")
}

func those(all []*subject, wanted func(*subject) bool) []*subject {
	return slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return !wanted(s) })
}

// pause pauses Objects, or lets them go on.
func pause(t *testing.T, c client.Client, some []*subject, paused string) {
	t.Helper()
	for _, s := range some {
		kube.Patch(t, c, s.Object, `{"metadata":{"annotations":{"crossplane.io/paused":`+paused+`}}}`)
	}
}

// awaitMade waits until provider-kubernetes has nothing more to do for Objects. Those which refer to others it
// sometimes leaves not ready for good, although it has made their resources.
func awaitMade(t *testing.T, c client.Client, some []*subject) {
	t.Helper()
	refers := func(s *subject) bool { return len(s.Desired().References) > 0 }
	awaitSynced(t, c, those(some, func(s *subject) bool { return !refers(s) }))
	for _, s := range those(some, refers) {
		kube.Await(t, c, s.Object, "the resource of Object "+s.GetName()+" to be made", func() (bool, string) {
			synced := s.GetCondition(xpv2.TypeSynced)
			return synced.Status == corev1.ConditionTrue && len(s.Observed().Manifest.Raw) > 0, synced.Message
		})
	}
}

// awaitSynced waits until all Objects are Synced and Ready.
func awaitSynced(t *testing.T, c client.Client, some []*subject) {
	t.Helper()
	for _, s := range some {
		awaitReady(t, c, s.Object)
		if synced := s.GetCondition(xpv2.TypeSynced); synced.Status != corev1.ConditionTrue {
			t.Errorf("Object %s is not synced: %s", s.GetName(), synced.Message)
		}
	}
}

// awaitTaken waits until all Objects that apply have been applied by us, and the others know what they would apply.
func awaitTaken(t *testing.T, c client.Client, all []*subject) {
	t.Helper()
	for _, s := range those(all, func(s *subject) bool { return s.shape.applies() || s.shape.previews() }) {
		kube.Await(t, c, s.Object, "Object "+s.GetName()+" to be taken over", func() (bool, string) {
			return s.Observed().Applied != nil || s.Observed().Compared != "", s.GetCondition(xpv2.TypeSynced).Message
		})
	}
}
