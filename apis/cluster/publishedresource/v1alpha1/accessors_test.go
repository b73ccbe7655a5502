package v1alpha1_test

import (
	"encoding/json"
	"testing"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"github.com/google/go-cmp/cmp"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestNamespaceFilter(t *testing.T) {
	type want struct {
		name, labels string
		err          bool
	}
	for name, tc := range map[string]struct {
		reason, json string
		want         want
	}{
		"Name": {reason: "A text is the name of the namespace.", json: `"my-app"`, want: want{name: "my-app"}},
		"Labels": {
			reason: "An object selects by labels.",
			json:   `{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"Exists"}]}`,
			want:   want{labels: "a=b,c"},
		},
		"AllLabels": {reason: "An empty selector selects all.", json: `{}`, want: want{labels: ""}},
		"Null":      {reason: "Null is no filter.", json: `null`, want: want{}},
		"EmptyName": {reason: "An empty text selects nothing and is a mistake.", json: `""`, want: want{err: true}},
		"Number":    {reason: "A number is neither.", json: `5`, want: want{err: true}},
		"List":      {reason: "A list is neither.", json: `["a"]`, want: want{err: true}},
		"UnknownField": {
			reason: "A field that is not read would select more than is meant.",
			json:   `{"matchLabel":{"a":"b"}}`,
			want:   want{err: true},
		},
		"BadOperator": {
			reason: "Operators are known ones.",
			json:   `{"matchExpressions":[{"key":"c","operator":"Like"}]}`,
			want:   want{err: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &publishedv1alpha1.ResourceFilter{}
			if err := json.Unmarshal([]byte(`{"namespace":`+tc.json+`}`), f); err != nil {
				t.Fatalf("any JSON can be read: %v", err)
			}
			s, err := f.Namespaces()
			if (err != nil) != tc.want.err {
				t.Fatalf("%s\nwant error %t, got %v", tc.reason, tc.want.err, err)
			}
			got := want{name: s.Name, err: err != nil}
			if s.Labels != nil {
				got.labels = s.Labels.String()
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if tc.json == "null" {
				return
			}
			b, err := json.Marshal(f)
			if diff := cmp.Diff(`{"namespace":`+tc.json+`}`, string(b)); diff != "" || err != nil {
				t.Errorf("it is written as it was read: %v\n%s", err, diff)
			}
		})
	}
}

func TestEffectivePolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		deletion xpv2.DeletionPolicy
		policies xpv2.ManagementPolicies
		want     xpv2.ManagementPolicies
	}{
		"Delete": {
			reason:   "Delete stays what it is.",
			deletion: xpv2.DeletionDelete,
			policies: xpv2.ManagementPolicies{"Observe", "Delete"},
			want:     xpv2.ManagementPolicies{"Observe", "Delete"},
		},
		"Orphan": {
			reason:   "Orphan takes Delete away.",
			deletion: xpv2.DeletionOrphan,
			policies: xpv2.ManagementPolicies{"Observe", "Delete"},
			want:     xpv2.ManagementPolicies{"Observe"},
		},
		"OrphanOfAll": {
			reason:   "crossplane-runtime reads * beside Orphan as all but Delete.",
			deletion: xpv2.DeletionOrphan,
			policies: xpv2.ManagementPolicies{"*"},
			want:     xpv2.ManagementPolicies{"*"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pr := &publishedv1alpha1.PublishedResource{}
			pr.SetDeletionPolicy(tc.deletion)
			pr.SetManagementPolicies(tc.policies)
			if diff := cmp.Diff(tc.want, pr.GetManagementPolicies()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLocated(t *testing.T) {
	name := publishedv1alpha1.FieldReference{Path: "spec.secretName"}
	namespace := publishedv1alpha1.FieldReference{Path: "metadata.namespace"}
	located := &publishedv1alpha1.RelatedResourceObject{
		RelatedResourceObjectSpec: publishedv1alpha1.RelatedResourceObjectSpec{Reference: &name},
		Namespace:                 &publishedv1alpha1.RelatedResourceObjectSpec{Reference: &namespace},
	}
	for label, tc := range map[string]struct {
		reason     string
		r          publishedv1alpha1.RelatedResource
		want       *publishedv1alpha1.RelatedResourceObject
		identifier string
	}{
		"Object": {
			reason:     "An object is what it is.",
			r:          publishedv1alpha1.RelatedResource{Identifier: "tls", Kind: "Secret", Object: located},
			want:       located,
			identifier: "tls",
		},
		"Reference": {
			reason: "The oldest form says the same.",
			r: publishedv1alpha1.RelatedResource{
				Kind: "Secret", Reference: &publishedv1alpha1.RelatedResourceReference{
					Name: name, Namespace: &namespace,
				},
			},
			want:       located,
			identifier: "secret",
		},
	} {
		t.Run(label, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.r.Located()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.identifier, tc.r.Name()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
