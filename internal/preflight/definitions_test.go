package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-kcp/package/crds"
)

const objectsDefinition = "objects.kubernetes.crossplane.io"

// formerDefinition returns a definition of Object that provider-kubernetes has left.
func formerDefinition(
	change func(*apiextensionsv1.CustomResourceDefinition),
) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: objectsDefinition}}
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	d.Status.StoredVersions = []string{"v1alpha2"}
	change(d)
	return d
}

func converted(d *apiextensionsv1.CustomResourceDefinition) {
	d.Spec.Conversion.Strategy = apiextensionsv1.WebhookConverter
}

func TestJudgeDefinition(t *testing.T) {
	const (
		webhook = "CustomResourceDefinition with spec.conversion.strategy: Webhook"
		patch   = "when provider-kubernetes is stopped: kubectl patch crd objects.kubernetes.crossplane.io " +
			`--type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`
		left = "the versions of this provider need no webhook, but a server-side apply of the new definition does not " +
			"remove the field of another manager"
	)
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	const at = objectsDefinition
	for name, tc := range map[string]struct {
		reason string
		is     func(*apiextensionsv1.CustomResourceDefinition)
		want   []Finding
	}{
		"None": {
			reason: "Without a webhook there is nothing to do.",
			is:     func(*apiextensionsv1.CustomResourceDefinition) {},
			want:   []Finding{one(at, kept("CustomResourceDefinition"))},
		},
		"Webhook": {
			reason: "A server-side apply does not take the webhook from another manager.", is: converted,
			want: []Finding{one(at, refused(webhook, left, patch))},
		},
		"WebhookOfPackage": {
			reason: "Crossplane replaces what it has installed.",
			is: func(d *apiextensionsv1.CustomResourceDefinition) {
				converted(d)
				d.OwnerReferences = []metav1.OwnerReference{{APIVersion: "pkg.crossplane.io/v1", Kind: "ProviderRevision"}}
			},
			want: []Finding{one(at, differs(webhook,
				"the versions of this provider need no webhook, and Crossplane replaces the definition with that of the package"))},
		},
		"StoredInOldVersion": {
			reason: "Objects in the old version need no conversion.",
			is: func(d *apiextensionsv1.CustomResourceDefinition) {
				d.Status.StoredVersions = []string{"v1alpha1", "v1alpha2"}
			},
			want: []Finding{one(at, differs("CustomResourceDefinition with objects that may be stored as v1alpha1",
				"the objects stay readable: the versions of this provider have the same fields"))},
		},
		"StoredInUnknownVersion": {
			reason: "The API server does not let a version go that is stored.",
			is:     func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.StoredVersions = []string{"v0"} },
			want: []Finding{one(at, refused("CustomResourceDefinition with objects stored as v0",
				"this provider has no such version, and the API server rejects a definition without a stored version",
				"write each object once, and remove the version from status.storedVersions"))},
		},
		"Deleted": {
			reason: "With a definition go its objects.",
			is:     func(d *apiextensionsv1.CustomResourceDefinition) { d.DeletionTimestamp = &metav1.Time{} },
			want: []Finding{one(at, refused("CustomResourceDefinition that is being deleted",
				"all objects of the kind are deleted with it", "wait until it is deleted, or stop the deletion, before the "+
					"migration"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tally := newTally()
			judgeDefinition(tally, formerDefinition(tc.is), all[objectsDefinition])
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
