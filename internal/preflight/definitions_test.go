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

// ownedBy lets a manager own the conversion strategy.
func ownedBy(
	manager string, operation metav1.ManagedFieldsOperationType, fields string,
) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Conversion.Strategy = apiextensionsv1.WebhookConverter
		d.ManagedFields = append(d.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields),
		})
	}
}

func TestJudgeDefinition(t *testing.T) {
	const (
		strategy = `{"f:spec":{"f:conversion":{"f:strategy":{}}}}`
		webhook  = "CustomResourceDefinition with spec.conversion.strategy: Webhook"
		patch    = "when provider-kubernetes is stopped: kubectl patch crd objects.kubernetes.crossplane.io " +
			`--type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`
		left = "the versions of this provider need no webhook, but a server-side apply of the new definition does not " +
			"remove the field of its manager: "
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
		"WebhookOfAnother": {
			reason: "A server-side apply does not take the webhook from another manager.",
			is:     ownedBy("helm", metav1.ManagedFieldsOperationUpdate, strategy),
			want:   []Finding{one(at, refused(webhook, left+"helm (Update)", patch))},
		},
		"WebhookOfUnreadableManager": {
			reason: "A manager whose fields cannot be read may own it.",
			is:     ownedBy("strange", metav1.ManagedFieldsOperationUpdate, "?"),
			want:   []Finding{one(at, refused(webhook, left+"strange (Update)", patch))},
		},
		"WebhookOfKubectl": {
			reason: "kubectl takes back what it has applied.",
			is:     ownedBy("kubectl", metav1.ManagedFieldsOperationApply, strategy),
			want: []Finding{one(at, differs(webhook,
				"the versions of this provider need no webhook, and kubectl apply --server-side takes the field back, which it "+
					"has set"))},
		},
		"WebhookOfPackage": {
			reason: "Crossplane replaces what it has installed.",
			is: func(d *apiextensionsv1.CustomResourceDefinition) {
				ownedBy("crossplane", metav1.ManagedFieldsOperationUpdate, strategy)(d)
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
