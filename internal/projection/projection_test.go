package projection

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

// TestVersions shows which versions are published, and what they are called. One with * is stored, and one with - is
// not served.
func TestVersions(t *testing.T) {
	mapped := func(from, to string) *publishedv1alpha1.ResourceProjection {
		return &publishedv1alpha1.ResourceProjection{Versions: map[string]publishedv1alpha1.VersionName{
			from: publishedv1alpha1.VersionName(to), "v8": "v9",
		}}
	}
	for name, tc := range map[string]struct {
		reason, of string
		source     publishedv1alpha1.SourceResource
		to         *publishedv1alpha1.ResourceProjection
		want       string // the names in kcp, and those of the source
		skipped    []string
		fails      Reason
	}{
		"All": {
			reason: "Without a choice all versions are published, and the storage version stays.", of: "v1beta1* v1",
			want: "v1beta1=v1beta1* v1=v1",
		},
		"OlderForm": {
			reason: "version chooses one.", of: "v1beta1 v1*", source: publishedv1alpha1.SourceResource{Version: "v1"},
			want: "v1=v1*",
		},
		"HighestStores": {
			reason: "If the storage version is not chosen, the highest in Kubernetes' order is it, wherever it stands.",
			of:     "v10 v2 v11beta1 v3*", source: publishedv1alpha1.SourceResource{Versions: []string{"v11beta1", "v2", "v10"}},
			want: "v10=v10* v2=v2 v11beta1=v11beta1",
		},
		"OnlyServed": {
			reason: "Versions that are not served are not published, even the storage version.", of: "v1alpha1*- v1beta1 v1",
			want: "v1beta1=v1beta1 v1=v1*",
		},
		"SkippedIsTold": {
			reason: "What is chosen and cannot be published is told, and the rest is published.", of: "v1alpha1- v1*",
			source: publishedv1alpha1.SourceResource{Versions: []string{"v1", "v9", "v1alpha1"}}, want: "v1=v1*",
			skipped: []string{"version v1alpha1 is not served", "version v9 does not exist"},
		},
		"NoneServed": {reason: "An API without a served version cannot be published.", of: "v1*-", fails: NotServed},
		"NoneChosen": {
			reason: "A version that does not exist cannot be published.", of: "v1*",
			source: publishedv1alpha1.SourceResource{Version: "v2"}, fails: NotServed,
		},
		"Renamed": {
			reason: "One version can have another name in kcp.", of: "v1*",
			to: &publishedv1alpha1.ResourceProjection{Version: "v1beta1"}, want: "v1beta1=v1*",
		},
		"RenamedAmongSeveral": {
			reason: "One name is not enough for several versions.", of: "v1* v2",
			to: &publishedv1alpha1.ResourceProjection{Version: "v3"}, fails: InvalidVersion,
		},
		"Mapped": {
			reason: "Versions that are mapped come in Kubernetes' order, the storage version wherever it then stands.",
			of:     "v1alpha1 v1* v2", to: mapped("v1alpha1", "v5"), want: "v1=v1* v2=v2 v5=v1alpha1",
		},
		"MappedOntoAnother": {
			reason: "Two versions cannot have one name.", of: "v1* v2", to: mapped("v1", "v2"), fails: InvalidVersion,
		},
		"UnusualName": {
			reason: "Kubernetes allows names of versions that kcp does not.", of: "stable*", fails: InvalidVersion,
		},
		"UnusualNameMapped": {
			reason: "A version with an unusual name can be published under another.", of: "stable*",
			to: mapped("stable", "v1"), want: "v1=stable*",
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "", strings.Fields(strings.NewReplacer("*", "", "-", "").Replace(tc.of))...)
			for i, v := range strings.Fields(tc.of) {
				crd.Spec.Versions[i].Storage, crd.Spec.Versions[i].Served = strings.Contains(v, "*"), !strings.Contains(v, "-")
			}
			before := crd.DeepCopy()
			p, err := Project(crd, specOf(tc.source, tc.to))
			var got []string
			if p != nil {
				for _, v := range p.CRD.Spec.Versions {
					got = append(got, fmt.Sprintf("%s=%s%.*s", v.Name, p.Sources[v.Name], map[bool]int{true: 1}[v.Storage], "*"))
					if !v.Served {
						t.Errorf("%s\nversion %s is not served", tc.reason, v.Name)
					}
				}
				if !slices.Equal(p.Skipped, tc.skipped) {
					t.Errorf("%s\nwant skipped %q, got %q", tc.reason, tc.skipped, p.Skipped)
				}
			}
			if strings.Join(got, " ") != tc.want || ReasonOf(err) != tc.fails {
				t.Errorf("%s\nwant %s, reason %q, got %s, %v", tc.reason, tc.want, tc.fails, got, err)
			}
			if diff := cmp.Diff(before, crd); diff != "" {
				t.Errorf("the source must stay as it is: -before, +after:\n%s", diff)
			}
		})
	}
}

// TestNames shows group, names and scope in kcp, by those of widgets.example.com.
func TestNames(t *testing.T) {
	type is struct {
		Group string
		Names apiextensionsv1.CustomResourceDefinitionNames
		Scope apiextensionsv1.ResourceScope
	}
	for name, tc := range map[string]struct {
		reason string
		source func(s *apiextensionsv1.CustomResourceDefinitionSpec)
		to     *publishedv1alpha1.ResourceProjection
		want   func(w *is)
	}{
		"None": {reason: "Without a projection all stays."},
		"Kind": {
			reason: "The kind decides about list kind, singular and plural; short names and categories are copied.",
			to:     &publishedv1alpha1.ResourceProjection{Kind: "Sertifikat"},
			want: func(w *is) {
				w.Names.Kind, w.Names.ListKind = "Sertifikat", "SertifikatList"
				w.Names.Singular, w.Names.Plural = "sertifikat", "sertifikats"
			},
		},
		"Plural": {
			reason: "The plural can be said, and kcp has small letters only.",
			to: &publishedv1alpha1.ResourceProjection{
				Plural: "Sertifikater", ShortNames: []string{"serts"}, Categories: []string{"management"},
			},
			want: func(w *is) {
				w.Names.Plural, w.Names.ShortNames, w.Names.Categories = "sertifikater", []string{"serts"}, []string{"management"}
			},
		},
		"Emptied": {
			reason: "An empty list is not the same as none.",
			to:     &publishedv1alpha1.ResourceProjection{ShortNames: []string{}, Categories: []string{}},
			want:   func(w *is) { w.Names.ShortNames, w.Names.Categories = nil, nil },
		},
		"GroupAndScope": {
			reason: "Group and scope can change.",
			to: &publishedv1alpha1.ResourceProjection{
				Group: "certs.example.org", Scope: publishedv1alpha1.ScopeCluster,
			},
			want: func(w *is) { w.Group, w.Scope = "certs.example.org", apiextensionsv1.ClusterScoped },
		},
		"Defaults": {
			reason: "Names that Kubernetes fills in are filled in.",
			source: func(s *apiextensionsv1.CustomResourceDefinitionSpec) { s.Names.Singular, s.Names.ListKind = "", "" },
		},
		"CoreGroup": {
			reason: "The core group can be published.", want: func(w *is) { w.Group = "" },
			source: func(s *apiextensionsv1.CustomResourceDefinitionSpec) { s.Group = "" },
		},
		"KnownGroup": {
			reason: "Some groups of Kubernetes have no dot.", want: func(w *is) { w.Group = "apps" },
			source: func(s *apiextensionsv1.CustomResourceDefinitionSpec) { s.Group = "apps" },
		},
		"ProjectedAnyway": {
			reason: "One without can be published as another.", want: func(w *is) { w.Group = "a.b" },
			source: func(s *apiextensionsv1.CustomResourceDefinitionSpec) { s.Group = "widgets" },
			to:     &publishedv1alpha1.ResourceProjection{Group: "a.b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			crd := widgets(t, "v1", "v1")
			want := is{crd.Spec.Group, *crd.Spec.Names.DeepCopy(), crd.Spec.Scope}
			if tc.source != nil {
				tc.source(&crd.Spec)
			}
			if tc.want != nil {
				tc.want(&want)
			}
			p, err := Project(crd, specOf(publishedv1alpha1.SourceResource{}, tc.to))
			if err != nil {
				t.Fatal(err)
			}
			s := p.CRD.Spec
			if diff := cmp.Diff(want, is{s.Group, s.Names, s.Scope}, cmpopts.EquateEmpty()); diff != "" ||
				p.CRD.GetName() != s.Names.Plural+"."+s.Group {
				t.Errorf("%s\nname %s -want, +got:\n%s", tc.reason, p.CRD.GetName(), diff)
			}
		})
	}
}
