package e2e_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	objectv1alpha2 "github.com/crossplane-contrib/provider-kcp/apis/cluster/object/v1alpha2"
	commonv1 "github.com/crossplane-contrib/provider-kcp/apis/common/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	audit "github.com/crossplane-contrib/provider-kcp/cluster/local"
	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
	"github.com/crossplane-contrib/provider-kcp/internal/test/guide"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

// goBack makes Objects meanwhile, which it returns, and goes back to provider-kubernetes, in the place of a process of
// ours. No resource is made again or deleted on the way, and none loses a field.
func goBack(t *testing.T, c, tc client.Client, former []*subject, at bed, shell guide.Shell, p peer,
	ours *provider.Process,
) (meanwhile []*subject) {
	t.Helper()
	meanwhile = oneOfEach(shapesOfMeanwhile(), at, roundOfMeanwhile)
	if err := each(len(meanwhile), func(i int) error {
		return meanwhile[i].create(t.Context(), c, tc, at.namespace)
	}); err != nil {
		t.Fatal(err)
	}
	all := append(slices.Clone(former), meanwhile...)
	awaitSynced(t, c, all)

	shell.RunAll(t, guide.Commands(t, page, "## Go back"))
	awaitSilence(t)
	forget(t, c, meanwhile)
	awaitSilence(t)
	if err := ours.Stop(); err != nil {
		t.Error(err)
	}
	before, m := snapshot(t, tc, all), mark(t)
	shell.RunAll(t, guide.Commands(t, page, "### Back without Crossplane"))
	p.run(t, "--certs-dir=", "--poll=2s")
	awaitBack(t, c, tc, all)
	for name, is := range snapshot(t, tc, all) {
		unstructured.RemoveNestedField(before[name].Object, "metadata", "labels", commonv1.LabelKeyManaged)
		if diff := cmp.Diff(content(before[name]), content(is)); diff != "" {
			t.Errorf("resource of Object %s after the way back: -before, +after:\n%s", name, diff)
		}
	}
	again := m.onTarget(t).That(func(e audit.AuditEvent) bool { return e.Verb == "create" || e.Verb == "delete" })
	if len(again) > 0 {
		t.Errorf("the way back has made and deleted resources:\n%s", again)
	}
	return meanwhile
}

// roundOfMeanwhile is part of the names of Objects that are made after a takeover.
const roundOfMeanwhile = 9

// shapesOfMeanwhile are those of Objects that are made after a takeover.
func shapesOfMeanwhile() map[string]shape {
	some := shapes()
	maps.Copy(some, newShapes())
	delete(some, "dry-run")     // provider-kubernetes would apply it.
	delete(some, "cel-strings") // It does not know the functions.
	delete(some, "health")      // It does not know the policy.
	some["of-its-own"] = shape{with: func(o build.Object, _ bed) {
		o.Desired().UnreachableTarget = commonv1.UnreachableTargetOrphan
		o.Desired().SharedResource = xpv2.DeletionOrphan
	}}
	return some
}

// forget writes values that references bring in a way that provider-kubernetes does not know into manifests, and names
// namespaces that it would not find.
func forget(t *testing.T, c client.Client, some []*subject) {
	t.Helper()
	for _, s := range some {
		kube.Get(t, c, client.ObjectKeyFromObject(s), s.Object)
		switch {
		case strings.HasPrefix(s.GetName(), "selects-"), strings.HasPrefix(s.GetName(), "from-object-"):
			observed := &unstructured.Unstructured{}
			if err := observed.UnmarshalJSON(s.Observed().Manifest.Raw); err != nil {
				t.Fatal(err)
			}
			manifest := configMap(observed.GetNamespace(), observed.GetName())
			manifest["data"] = observed.Object["data"]
			s.Desired().ForProvider.Manifest = build.Raw(manifest)
			s.Desired().References = nil
		case strings.HasPrefix(s.GetName(), "waits-"):
			s.Desired().References[0].DependsOn.Namespace = s.GetNamespace()
		default:
			continue
		}
		kube.Update(t, c, s.Object)
	}
}

// awaitBack waits until provider-kubernetes has applied all Objects that apply, which takes our label off their
// resources, and has nothing more to do.
func awaitBack(t *testing.T, c, tc client.Client, all []*subject) {
	t.Helper()
	for _, s := range those(all, func(s *subject) bool { return s.shape.owns() }) {
		kube.Eventually(t, "the label to leave the resource of "+s.GetName(), func() (bool, string) {
			u, err := s.resource(t.Context(), tc)
			if err != nil {
				return false, err.Error()
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s.Object); err != nil {
				return false, err.Error()
			}
			return u.GetLabels()[commonv1.LabelKeyManaged] == "", s.GetCondition(xpv2.TypeSynced).Message
		})
	}
	awaitMade(t, c, all)
}

// specs returns the specs of Objects, by name, with references to Objects of the version that the way back leads to.
func specs(t *testing.T, c client.Client, some []*subject) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, s := range some {
		kube.Get(t, c, client.ObjectKeyFromObject(s), s.Object)
		spec, err := yaml.Marshal(s.Desired())
		if err != nil {
			t.Fatal(err)
		}
		group := objectv1alpha2.GroupVersion.Group
		found[s.GetName()] = strings.ReplaceAll(string(spec), group+"/v1alpha1", group+"/v1alpha2")
	}
	return found
}
