package object_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// TestSettledPreviewIsSilent shows that a preview is asked for once: neither passes of the reconciler cost a request
// nor changes of what an apply cannot change, whether the target finds a difference, none, or fault with the manifest,
// or may not be asked.
func TestSettledPreviewIsSilent(t *testing.T) {
	t.Parallel()
	const reconciles = 10
	c, tc := provide(t), target.Client(t)
	for name, p := range map[string]struct {
		reason string
		data   []string
		viewer bool
		want   wantCondition
	}{
		"Different":    {reason: "A difference is told once.", data: []string{"color", "red"}, want: different},
		"NoDifference": {reason: "That there is none is too.", data: []string{"color", "blue"}, want: noDifference},
		"CannotCompare": {
			reason: "What is refused is not sent again.",
			data:   []string{"a b", "c"},
			want:   cannotCompare,
		},
		"Forbidden": {
			reason: "Nor is what is forbidden.",
			data:   []string{"color", "red"},
			viewer: true,
			want:   different,
		},
	} {
		t.Run(name, func(t *testing.T) {
			forScopesBeside(t, func(t *testing.T, s build.Scope) {
				tns := target.Namespace(t)
				who := tns + "-asker"
				role, binding := viewerRights(tns, who)
				kube.Create(t, tc, role, binding, blue(tns))
				cfg := target.User(t, who)
				if !p.viewer {
					cfg = target.User(t, who, "system:masters")
				}
				ns, pc := connect(t, c, s, cfg)
				o := s.Object(ns, tns, pc, build.ConfigMap(tns, "settings", p.data...))
				o.SetManagementPolicies(observeOnly)
				kube.Create(t, c, o)
				awaitCondition(t, c, o, p.want)
				awaitReady(t, c, o)

				audit := target.Audit(t)
				mark := audit.Mark()
				for range reconciles {
					touch(t, c, o)
					passes(t, c, o)
				}
				if diff := cmp.Diff(map[string]int{}, audit.Since(mark).By(who).Count(),
					cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s\nrequests of %d reconciles: -want, +got:\n%s", p.reason, reconciles, diff)
				}
				awaitCondition(t, c, o, p.want)
				staysUnwritten(t, c, o)

				cm := awaitData(t, tc, types.NamespacedName{Namespace: tns, Name: "settings"}, blue(tns).Data)
				cm.Data["step"] = strconv.Itoa(reconciles)
				kube.Update(t, tc, cm)
				awaitObserved(t, c, o, cm.Data)
				if diff := cmp.Diff(map[string]int{"patch configmaps": 1},
					audit.Since(mark).By(who).Count()); diff != "" {
					t.Errorf("%s\nrequests after a change of the resource: -want, +got:\n%s", p.reason, diff)
				}
			})
		})
	}
}

// TestPreviewFollowsPolicy shows that an Object which may apply after all does, and says nothing of changes any more;
// and that one which may no longer does again.
func TestPreviewFollowsPolicy(t *testing.T) {
	forWorlds(t, func(t *testing.T, w world) {
		kube.Create(t, w.tc, blue(w.target))
		o := w.object(build.ConfigMap(w.target, "settings", "color", "red"))
		o.SetManagementPolicies(observeOnly)
		kube.Create(t, w.c, o)
		awaitFields(t, w.c, o, "data.color")
		setPolicies(t, w.c, o, neverDelete)
		awaitData(t, w.tc, types.NamespacedName{Namespace: w.target, Name: "settings"}, map[string]string{"color": "red"})
		awaitNoPreview(t, w.c, o)
		setPolicies(t, w.c, o, observeDelete)
		awaitCondition(t, w.c, o, noDifference)
	})
}

// setPolicies changes the management policies of an Object.
func setPolicies(t *testing.T, c client.Client, o build.Object, p xpv2.ManagementPolicies) {
	t.Helper()
	edit(t, c, o, func() { o.SetManagementPolicies(p) })
}
