package preflight

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crossplane-contrib/provider-kcp/internal/projection"
)

// groupOfPackages is the API group of Crossplane's package manager.
const groupOfPackages = "pkg.crossplane.io"

// conversionStrategy is the field that says how versions of a kind are converted.
var conversionStrategy = fieldpath.MakePathOrDie("spec", "conversion", "strategy")

// judgeDefinition adds what becomes of a CustomResourceDefinition that ours is put in the place of.
func judgeDefinition(t *tally, is, ours *apiextensionsv1.CustomResourceDefinition) {
	before := t.total
	judgeConversion(t, is)
	judgeStoredVersions(t, is, ours)
	if is.GetDeletionTimestamp() != nil {
		t.add(refused("CustomResourceDefinition that is being deleted", "all objects of the kind go with it",
			"wait until it is gone, or end its deletion, before the takeover"), is.GetName())
	}
	if t.total == before {
		t.add(kept("CustomResourceDefinition"), is.GetName())
	}
}

// judgeConversion adds what becomes of a webhook of the former provider that converts versions. Nobody answers it after
// the takeover, and objects of the other version cannot be read.
func judgeConversion(t *tally, is *apiextensionsv1.CustomResourceDefinition) {
	c := is.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter {
		return
	}
	const what = "CustomResourceDefinition with spec.conversion.strategy: Webhook"
	if byPackage(is.GetOwnerReferences()) {
		t.add(differs(what, "our versions need no webhook, and Crossplane replaces the definition with that of the package"),
			is.GetName())
		return
	}
	managers := managersOf(is.GetManagedFields(), conversionStrategy)
	if slices.Equal(managers, []string{"kubectl (Apply)"}) {
		t.add(differs(what,
			"our versions need no webhook, and kubectl apply --server-side takes the field back, which it has set"),
			is.GetName())
		return
	}
	t.add(refused(what,
		"our versions need no webhook, but a server-side apply of our definition leaves the field to its manager: "+
			strings.Join(managers, ", "),
		"when provider-kubernetes is stopped: kubectl patch crd "+is.GetName()+
			` --type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`), is.GetName())
}

func byPackage(owners []metav1.OwnerReference) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		return group == groupOfPackages
	})
}

// managersOf returns the managers of a field and how each has written it, sorted. A manager whose fields cannot be read
// counts as one.
func managersOf(entries []metav1.ManagedFieldsEntry, path fieldpath.Path) []string {
	var managers []string
	for _, e := range entries {
		all := fieldpath.NewSet()
		if e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		if err := all.FromJSON(e.FieldsV1.GetRawReader()); err != nil || all.Has(path) {
			managers = append(managers, e.Manager+" ("+string(e.Operation)+")")
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}

// judgeStoredVersions adds what becomes of objects that may be stored in another version than ours are.
func judgeStoredVersions(t *tally, is, ours *apiextensionsv1.CustomResourceDefinition) {
	for _, stored := range is.Status.StoredVersions {
		switch v := projection.VersionOf(ours, stored); {
		case v == nil:
			t.add(refused("CustomResourceDefinition with objects stored as "+stored,
				"we have no such version, and the API server refuses a definition without one that is stored",
				"write each object once, and take the version out of status.storedVersions"), is.GetName())
		case !v.Storage:
			t.add(differs("CustomResourceDefinition with objects that may be stored as "+stored,
				"they are read as they are: our versions have all fields of each other"), is.GetName())
		}
	}
}
