package examples

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/provider-kcp/internal/test/build"
)

// rightsOf returns the rights that the roles in documents of YAML grant, each as "verb group/resource".
func rightsOf(t *testing.T, content []byte) []string {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for doc := range bytes.SplitSeq(content, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{} // A Role has the same fields.
		if err := yaml.Unmarshal(doc, role); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return build.Rights(rules)
}

// granted reports whether Crossplane grants a right to each provider that it installs:
// https://github.com/crossplane/crossplane/blob/v2.4.0/internal/controller/rbac/provider/roles/roles.go
func granted(right string) bool {
	verb, what, _ := strings.Cut(right, " ")
	group, res, _ := strings.Cut(what, "/")
	switch {
	case strings.HasSuffix(res, "/finalizers"):
		return verb == "update"
	case group == "" || group == "coordination.k8s.io":
		return slices.Contains([]string{"secrets", "configmaps", "events", "leases"}, res)
	case group == "apiextensions.k8s.io":
		return slices.Contains([]string{"get", "list", "watch"}, verb)
	}
	return slices.Contains([]string{"get", "list", "watch", "create", "update", "patch"}, verb)
}

// TestUsualRights shows that the manifest of the usual rights grants just what the documented role has and Crossplane
// does not grant, and all that the manifests grant which do not depend on the kinds of a user.
func TestUsualRights(t *testing.T) {
	doc := regexp.MustCompile("(?s)name: provider-kcp\nrules:.*?```").FindString(read(t, "../docs/configuration.md"))
	wanted := slices.DeleteFunc(rightsOf(t, []byte("metadata:\n  "+strings.TrimSuffix(doc, "```"))), granted)
	usual := rightsOf(t, []byte(read(t, "rbac/usual.yaml")))
	if diff := cmp.Diff(wanted, slices.DeleteFunc(slices.Clone(usual), granted)); diff != "" {
		t.Errorf("rights that Crossplane does not grant: -documented, +in the manifest:\n%s", diff)
	}
	for _, f := range []string{
		"rbac/allowed-namespaces.yaml", "rbac/applications.yaml", "rbac/collections.yaml", "rbac/leader-election.yaml",
	} {
		for _, right := range rightsOf(t, []byte(read(t, f))) {
			if !slices.Contains(usual, right) {
				t.Errorf("%s grants %q, and rbac/usual.yaml does not", f, right)
			}
		}
	}
}
