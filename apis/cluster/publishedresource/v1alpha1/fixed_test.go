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
	)
	const before = source + "projection: {kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [serts]}"
	for name, tc := range map[string]struct{ reason, status, before, after, want string }{
		"KindBefore": {
			reason: "What is not published yet can be corrected.",
			status: unpublished,
			before: before,
			after:  "resource: {apiGroup: cert-manager.io, kind: Issuer}",
			want:   "",
		},
		"KindAfter": {
			reason: "Copies of one kind cannot become those of another.",
			status: isPublished,
			before: before,
			after:  strings.Replace(before, "Certificate", "Issuer", 1),
			want:   "the group and kind of spec.resource cannot change",
		},
		"GroupAfter": {
			reason: "Copies of one group cannot become those of another.",
			status: isPublished,
			before: before,
			after:  strings.Replace(before, "cert-manager.io", "certs.io", 1),
			want:   "the group and kind of spec.resource cannot change",
		},
		"VersionsAfter": {
			reason: "Versions come and go.",
			status: isBound,
			before: before,
			after:  strings.Replace(before, "kind: Certificate", "kind: Certificate, versions: [v1]", 1),
			want:   "",
		},
		"ProjectionUnbound": {
			reason: "What no one has bound can be renamed.",
			status: isPublished,
			before: before,
			after:  projection("group: a.b, kind: X, plural: xs, scope: Cluster"),
			want:   "",
		},
		"ProjectionGone": {
			reason: "No projection is another name.",
			status: isBound,
			before: before,
			after:  source,
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedGroup": {
			reason: "A group that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("group: a.b, kind: Sertifikat, plural: sertifikater, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedKind": {
			reason: "A kind that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: X, plural: sertifikater, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedPlural": {
			reason: "A plural that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: Sertifikat, plural: x, scope: Namespaced"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ProjectedScope": {
			reason: "A scope that is bound stays.",
			status: isBound,
			before: before,
			after:  projection("kind: Sertifikat, plural: sertifikater, scope: Cluster"),
			want:   "group, kind, plural and scope of spec.projection cannot change",
		},
		"ShortNames": {
			reason: "Short names may change at any time.",
			status: isBound,
			before: before,
			after: projection("kind: Sertifikat, plural: sertifikater, scope: Namespaced, shortNames: [], categories: [all], " +
				"versions: {v1: v2}"),
			want: "",
		},
		"AllElse": {
			reason: "The rest may change at any time.",
			status: isBound,
			before: before,
			after: before + "\nnaming: {name: x}\nmutation: {spec: [{delete: {path: a}}]}\nagentName: other\n" +
				"deletionPolicy: Delete",
			want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := published(t, "fixed", tc.before)
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
				t.Errorf("%s\n%v", tc.reason, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}
