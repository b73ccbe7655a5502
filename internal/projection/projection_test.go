package projection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	publishedv1alpha1 "github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
)

func TestVersions(t *testing.T) {
	type args struct {
		crd    *apiextensionsv1.CustomResourceDefinition
		source publishedv1alpha1.SourceResource
		to     *publishedv1alpha1.ResourceProjection
	}
	type projected struct {
		source, name string
		stores       bool
	}
	type want struct {
		Versions []projected
		Skipped  []string
		Reason   Reason
	}
	unserved := func(crd *apiextensionsv1.CustomResourceDefinition,
		names ...string,
	) *apiextensionsv1.CustomResourceDefinition {
		for i := range crd.Spec.Versions {
			for _, name := range names {
				if crd.Spec.Versions[i].Name == name {
					crd.Spec.Versions[i].Served = false
				}
			}
		}
		return crd
	}
	for name, tc := range map[string]struct {
		reason string
		args   args
		want   want
	}{
		"All": {
			reason: "Without a choice all versions are published, and the storage version stays.",
			args:   args{crd: widgets(t, "v1beta1", "v1beta1", "v1")},
			want:   want{Versions: []projected{{"v1beta1", "v1beta1", true}, {"v1", "v1", false}}},
		},
		"OlderForm": {
			reason: "version chooses one.",
			args: args{
				crd: widgets(t, "v1", "v1beta1", "v1"), source: publishedv1alpha1.SourceResource{Version: "v1"},
			},
			want: want{Versions: []projected{{"v1", "v1", true}}},
		},
		"HighestStores": {
			reason: "If the storage version is not chosen, the highest in Kubernetes' order becomes it, " +
				"wherever it stands in the list.",
			args: args{
				crd:    widgets(t, "v3", "v10", "v2", "v11beta1", "v3"),
				source: publishedv1alpha1.SourceResource{Versions: []string{"v11beta1", "v2", "v10"}},
			},
			want: want{Versions: []projected{{"v10", "v10", true}, {"v2", "v2", false}, {"v11beta1", "v11beta1", false}}},
		},
		"OnlyServed": {
			reason: "Versions that are not served are not published, even the storage version.",
			args:   args{crd: unserved(widgets(t, "v1alpha1", "v1alpha1", "v1beta1", "v1"), "v1alpha1")},
			want:   want{Versions: []projected{{"v1beta1", "v1beta1", false}, {"v1", "v1", true}}},
		},
		"SkippedIsTold": {
			reason: "What is chosen and cannot be published is told, and the rest is published.",
			args: args{
				crd:    unserved(widgets(t, "v1", "v1alpha1", "v1"), "v1alpha1"),
				source: publishedv1alpha1.SourceResource{Versions: []string{"v1", "v9", "v1alpha1"}},
			},
			want: want{
				Versions: []projected{{"v1", "v1", true}},
				Skipped:  []string{"version v1alpha1 is not served", "version v9 does not exist"},
			},
		},
		"NoneServed": {
			reason: "An API without a served version cannot be published.",
			args:   args{crd: unserved(widgets(t, "v1", "v1"), "v1")},
			want:   want{Reason: NotServed},
		},
		"NoneChosen": {
			reason: "A version that does not exist cannot be published.",
			args:   args{crd: widgets(t, "v1", "v1"), source: publishedv1alpha1.SourceResource{Version: "v2"}},
			want:   want{Reason: NotServed},
		},
		"Renamed": {
			reason: "One version can have another name in kcp.",
			args:   args{crd: widgets(t, "v1", "v1"), to: &publishedv1alpha1.ResourceProjection{Version: "v1beta1"}},
			want:   want{Versions: []projected{{"v1", "v1beta1", true}}},
		},
		"RenamedAmongSeveral": {
			reason: "One name is not enough for several versions.",
			args:   args{crd: widgets(t, "v1", "v1", "v2"), to: &publishedv1alpha1.ResourceProjection{Version: "v3"}},
			want:   want{Reason: InvalidVersion},
		},
		"Mapped": {
			reason: "Versions that are mapped come in Kubernetes' order, the storage version wherever it then stands.",
			args: args{
				crd: widgets(t, "v1", "v1alpha1", "v1", "v2"),
				to: &publishedv1alpha1.ResourceProjection{Versions: map[string]publishedv1alpha1.VersionName{
					"v1alpha1": "v5", "v1": "v1beta1", "v8": "v9",
				}},
			},
			want: want{Versions: []projected{{"v1", "v1beta1", true}, {"v2", "v2", false}, {"v1alpha1", "v5", false}}},
		},
		"MappedOntoAnother": {
			reason: "Two versions cannot have one name.",
			args: args{
				crd: widgets(t, "v1", "v1", "v2"),
				to:  &publishedv1alpha1.ResourceProjection{Versions: map[string]publishedv1alpha1.VersionName{"v1": "v2"}},
			},
			want: want{Reason: InvalidVersion},
		},
		"UnusualName": {
			reason: "Kubernetes allows names of versions that kcp does not.",
			args:   args{crd: widgets(t, "stable", "stable")},
			want:   want{Reason: InvalidVersion},
		},
		"UnusualNameMapped": {
			reason: "A version with an unusual name can be published under another.",
			args: args{
				crd: widgets(t, "stable", "stable"),
				to:  &publishedv1alpha1.ResourceProjection{Versions: map[string]publishedv1alpha1.VersionName{"stable": "v1"}},
			},
			want: want{Versions: []projected{{"stable", "v1", true}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.args.crd.DeepCopy()
			p, err := Project(tc.args.crd, specOf(tc.args.source, tc.args.to))
			got := want{Reason: ReasonOf(err)}
			if p != nil {
				got.Skipped = p.Skipped
				for _, v := range p.CRD.Spec.Versions {
					got.Versions = append(got.Versions, projected{p.Sources[v.Name], v.Name, v.Storage})
					if !v.Served {
						t.Errorf("%s\nversion %s is not served", tc.reason, v.Name)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(projected{})); diff != "" {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, err, diff)
			}
			if diff := cmp.Diff(before, tc.args.crd); diff != "" {
				t.Errorf("the source must stay as it is: -before, +after:\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	type want struct {
		Group  string
		Names  apiextensionsv1.CustomResourceDefinitionNames
		Scope  apiextensionsv1.ResourceScope
		Reason Reason
	}
	base := func(f func(*want)) want {
		crd := widgets(t, "v1", "v1")
		w := want{Group: crd.Spec.Group, Names: crd.Spec.Names, Scope: crd.Spec.Scope}
		f(&w)
		return w
	}
	in := func(group string) *apiextensionsv1.CustomResourceDefinition {
		crd := widgets(t, "v1", "v1")
		crd.Spec.Group = group
		return crd
	}
	for name, tc := range map[string]struct {
		reason string
		crd    *apiextensionsv1.CustomResourceDefinition
		to     *publishedv1alpha1.ResourceProjection
		want   want
	}{
		"None": {
			reason: "Without a projection all stays.",
			crd:    widgets(t, "v1", "v1"),
			want:   base(func(*want) {}),
		},
		"Kind": {
			reason: "The kind decides about list kind, singular and plural; short names and categories are copied.",
			crd:    widgets(t, "v1", "v1"),
			to:     &publishedv1alpha1.ResourceProjection{Kind: "Sertifikat"},
			want: base(func(w *want) {
				w.Names.Kind, w.Names.ListKind = "Sertifikat", "SertifikatList"
				w.Names.Singular, w.Names.Plural = "sertifikat", "sertifikats"
			}),
		},
		"Plural": {
			reason: "The plural can be said, and kcp has small letters only.",
			crd:    widgets(t, "v1", "v1"),
			to: &publishedv1alpha1.ResourceProjection{
				Kind: "Sertifikat", Plural: "Sertifikater", ShortNames: []string{"serts"},
				Categories: []string{"management"},
			},
			want: base(func(w *want) {
				w.Names = apiextensionsv1.CustomResourceDefinitionNames{
					Kind: "Sertifikat", ListKind: "SertifikatList", Singular: "sertifikat", Plural: "sertifikater",
					ShortNames: []string{"serts"}, Categories: []string{"management"},
				}
			}),
		},
		"Emptied": {
			reason: "An empty list is not the same as none.",
			crd:    widgets(t, "v1", "v1"),
			to:     &publishedv1alpha1.ResourceProjection{ShortNames: []string{}, Categories: []string{}},
			want:   base(func(w *want) { w.Names.ShortNames, w.Names.Categories = nil, nil }),
		},
		"GroupAndScope": {
			reason: "Group and scope can change.",
			crd:    widgets(t, "v1", "v1"),
			to: &publishedv1alpha1.ResourceProjection{
				Group: "certs.example.org", Scope: publishedv1alpha1.ScopeCluster,
			},
			want: base(func(w *want) { w.Group, w.Scope = "certs.example.org", apiextensionsv1.ClusterScoped }),
		},
		"Defaults": {
			reason: "Names that Kubernetes fills in are filled in.",
			crd: func() *apiextensionsv1.CustomResourceDefinition {
				crd := widgets(t, "v1", "v1")
				crd.Spec.Names.Singular, crd.Spec.Names.ListKind = "", ""
				return crd
			}(),
			want: base(func(*want) {}),
		},
		"CoreGroup": {
			reason: "The core group can be published.",
			crd:    in(""),
			want:   base(func(w *want) { w.Group = "" }),
		},
		"KnownGroup": {
			reason: "Some groups of Kubernetes have no dot.",
			crd:    in("apps"),
			want:   base(func(w *want) { w.Group = "apps" }),
		},
		"GroupWithoutDot": {reason: "Other groups need a dot.", crd: in("widgets"), want: want{Reason: InvalidName}},
		"ProjectedAnyway": {
			reason: "A group without a dot can be published as another.",
			crd:    in("widgets"),
			to:     &publishedv1alpha1.ResourceProjection{Group: "a.b"},
			want:   base(func(w *want) { w.Group = "a.b" }),
		},
		"InvalidKind": {
			reason: "A kind is a label.",
			crd:    in("a.b"),
			to:     &publishedv1alpha1.ResourceProjection{Kind: "1st"},
			want:   want{Reason: InvalidName},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Project(tc.crd, specOf(publishedv1alpha1.SourceResource{}, tc.to))
			got := want{Reason: ReasonOf(err)}
			if p != nil {
				s := p.CRD.Spec
				got.Group, got.Names, got.Scope = s.Group, s.Names, s.Scope
				if want := s.Names.Plural + "." + s.Group; p.CRD.GetName() != want {
					t.Errorf("%s\nname: want %s, got %s", tc.reason, want, p.CRD.GetName())
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n%v\n-want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}
