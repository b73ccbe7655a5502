package v1alpha1_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestFixed shows what cannot change once others rely on it, and that all else can.
func TestFixed(t *testing.T) {
	c := prepared(t)
	const (
		unpublished = "{}"
		isPublished = "{resourceSchemaName: v1.certificates.cert-manager.io, workspaces: {bound: 0}}"
		isBound     = "{resourceSchemaName: v1.certificates.cert-manager.io, workspaces: {bound: 1}}"

		kindStays       = "the group and kind of spec.resource cannot change"
		projectionStays = "group, kind, plural and scope of spec.projection cannot change"
	)
	const before = source + "projection: {kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [serts]}"
	for name, tc := range map[string]struct{ status, after, want string }{
		"KindBefore": {status: unpublished, after: "resource: {apiGroup: cert-manager.io, kind: Issuer}"},
		"KindAfter": {
			status: isPublished,
			after:  strings.Replace(before, "Certificate", "Issuer", 1),
			want:   kindStays,
		},
		"VersionsAfter": {
			status: isBound,
			after:  strings.Replace(before, "kind: Certificate", "kind: Certificate, versions: [v1]", 1),
		},
		"ProjectionUnbound": {
			status: isPublished,
			after:  projection("group: a.b, kind: X, plural: xs, scope: Cluster"),
		},
		"ProjectionGone": {status: isBound, after: source, want: projectionStays},
		"ProjectedGroup": {
			status: isBound,
			after:  projection("group: a.b, kind: Sertifikat, plural: sertifikater, scope: Namespaced"),
			want:   projectionStays,
		},
		"ProjectedKind": {
			status: isBound,
			after:  projection("kind: X, plural: sertifikater, scope: Namespaced"),
			want:   projectionStays,
		},
		"ShortNames": {
			status: isBound,
			after: projection("kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [], " +
				"categories: [all], versions: {v1: v2}"),
		},
		"AllElse": {
			status: isBound,
			after: before + "\nnaming: {name: x}\nmutation: {spec: [{delete: {path: a}}]}\n" +
				"agentName: other\ndeletionPolicy: Delete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := published(t, "fixed", before)
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), u)) })
			defer func() { _ = c.Delete(t.Context(), u) }()
			status := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.status), &status); err != nil {
				t.Fatal(err)
			}
			u.Object["status"] = status
			if err := c.Status().Update(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			u.Object["spec"] = published(t, "", tc.after).Object["spec"]
			err := c.Update(t.Context(), u)
			if tc.want == "" && err != nil {
				t.Error(err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
}
