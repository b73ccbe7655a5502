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
		"Name":         {"A text is the name of the namespace.", `"my-app"`, want{name: "my-app"}},
		"Labels":       {"An object selects by labels.", `{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"Exists"}]}`, want{labels: "a=b,c"}},
		"AllLabels":    {"An empty selector selects all.", `{}`, want{labels: ""}},
		"Null":         {"Null is no filter.", `null`, want{}},
		"EmptyName":    {"An empty text selects nothing and is a mistake.", `""`, want{err: true}},
		"Number":       {"A number is neither.", `5`, want{err: true}},
		"List":         {"A list is neither.", `["a"]`, want{err: true}},
		"UnknownField": {"A field that is not read would select more than is meant.", `{"matchLabel":{"a":"b"}}`, want{err: true}},
		"BadOperator":  {"Operators are known ones.", `{"matchExpressions":[{"key":"c","operator":"Like"}]}`, want{err: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &publishedv1alpha1.ResourceFilter{}
			if err := json.Unmarshal([]byte(`{"namespace":`+tc.json+`}`), f); err != nil {
				t.Fatalf("any JSON can be read: %v", err)
			}
			s, err := f.Namespace.Parse()
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
		"Delete":      {"Delete stays what it is.", xpv2.DeletionDelete, xpv2.ManagementPolicies{"Observe", "Delete"}, xpv2.ManagementPolicies{"Observe", "Delete"}},
		"Orphan":      {"Orphan takes Delete away.", xpv2.DeletionOrphan, xpv2.ManagementPolicies{"Observe", "Delete"}, xpv2.ManagementPolicies{"Observe"}},
		"OrphanOfAll": {"crossplane-runtime reads * beside Orphan as all but Delete.", xpv2.DeletionOrphan, xpv2.ManagementPolicies{"*"}, xpv2.ManagementPolicies{"*"}},
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
		"Object":    {"An object is what it is.", publishedv1alpha1.RelatedResource{Identifier: "tls", Kind: "Secret", Object: located}, located, "tls"},
		"Reference": {"The oldest form says the same.", publishedv1alpha1.RelatedResource{Kind: "Secret", Reference: &publishedv1alpha1.RelatedResourceReference{Name: name, Namespace: &namespace}}, located, "secret"},
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
