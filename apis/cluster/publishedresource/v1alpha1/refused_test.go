package v1alpha1_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRefused shows that what can only fail is refused when it is applied.
func TestRefused(t *testing.T) {
	c := prepared(t)
	for name, tc := range map[string]struct{ spec, want string }{
		"NoResource": {spec: "naming: {name: x}", want: "spec.resource: Required"},
		"NoGroup":    {spec: "resource: {kind: C}", want: "apiGroup: Required"},
		"NoKind":     {spec: `resource: {apiGroup: a.b, kind: ""}`, want: "spec.resource.kind"},
		"VersionAndVersions": {
			spec: "resource: {apiGroup: a.b, kind: C, version: v1, versions: [v1]}",
			want: "version and versions cannot both be set",
		},
		"OneNameForSeveral": {
			spec: "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}\nprojection: {version: v3}",
			want: "projection.version can only be set if one version is published",
		},
		"SameVersionName": {
			spec: projection("versions: {v1: v3, v2: v3}"),
			want: "no two versions can have the same name in kcp",
		},
		"VersionName":     {spec: projection("versions: {stable: stable}"), want: "spec.projection.versions"},
		"GroupWithoutDot": {spec: projection("group: certs"), want: "spec.projection.group"},
		"KindWithSpace":   {spec: projection("kind: A B"), want: "spec.projection.kind"},
		"PluralWithDot":   {spec: projection("plural: a.b"), want: "spec.projection.plural"},
		"Scope":           {spec: projection("scope: Both"), want: "Unsupported value"},
		"CrossplaneField": {spec: projection("crossplaneFields: [compositionReference]"), want: "Unsupported value"},
		"ShortName":       {spec: projection("shortNames: [Certs]"), want: "spec.projection.shortNames"},
		"EmptyStep":       {spec: step(""), want: "exactly one of delete, regex, template and cel must be set"},
		"TwoInOneStep": {
			spec: step("delete: {path: a}, regex: {path: a}"),
			want: "exactly one of delete, regex, template and cel must be set",
		},
		"NoPath":     {spec: step("delete: {}"), want: "path: Required"},
		"EmptyPath":  {spec: step(`delete: {path: ""}`), want: "path"},
		"NoTemplate": {spec: step("template: {path: a}"), want: "template: Required"},
		"LongExpression": {
			spec: step(`cel: {path: a, expression: "` + strings.Repeat("1+", 5000) + `1"}`),
			want: "expression",
		},
		"Pattern": {spec: step(`regex: {path: a, pattern: "("}`), want: "missing closing )"},
		"DuplicateIdentifier": {
			spec: source + "related: [{" + secret + "," + byPath + "},{" + secret + "," + byPath + "}]",
			want: "each identifier must be unique",
		},
		"DuplicateDefault": {
			spec: source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}}," +
				"{identifier: secret, origin: service, kind: Secret, " + byPath + "}]",
			want: "each identifier must be unique",
		},
		"NoIdentifier": {spec: related("origin: service, kind: Secret, " + byPath), want: "identifier must be set"},
		"Identifier": {
			spec: related("identifier: a/b, origin: service, kind: Secret, " + byPath),
			want: "identifier",
		},
		"LongIdentifier": {
			spec: related("identifier: " + strings.Repeat("a", 62) + ", origin: service, kind: Secret, " + byPath),
			want: "identifier can have 61 characters with origin service",
		},
		"LongKind": {spec: projection("kind: " + strings.Repeat("A", 60)), want: "spec.projection.kind"},
		"Origin":   {spec: related("identifier: a, origin: moon, kind: Secret, " + byPath), want: "Unsupported value"},
		"NoOrigin": {spec: related("identifier: a, kind: Secret, " + byPath), want: "origin: Required"},
		"Kind":     {spec: related("identifier: a, origin: kcp, kind: Pod, " + byPath), want: "Unsupported value"},
		"NeitherKindNorResource": {
			spec: related("identifier: a, origin: kcp, " + byPath),
			want: "either kind or version and resource must be set",
		},
		"KindAndResource": {
			spec: related("identifier: a, origin: kcp, kind: Secret, version: v1, resource: secrets, " + byPath),
			want: "either kind or version and resource must be set",
		},
		"ResourceAlone": {
			spec: related("identifier: a, origin: kcp, resource: secrets, " + byPath),
			want: "version and resource must be set together",
		},
		"GroupAlone": {
			spec: related("identifier: a, origin: kcp, kind: Secret, group: g.io, " + byPath),
			want: "group can only be set beside version and resource",
		},
		"IdentityOfCore": {
			spec: related("identifier: a, origin: kcp, version: v1, resource: secrets, identityHash: abc, " + byPath),
			want: "identityHash can only be set beside",
		},
		"NoObject": {spec: related(secret), want: "exactly one of object and reference must be set"},
		"ObjectAndReference": {
			spec: related(secret + ", reference: {name: {path: a}}, " + byPath),
			want: "exactly one of object and reference must be set",
		},
		"EmptyObject": {
			spec: related(secret + ", object: {}"),
			want: "exactly one of selector, reference and template must be set",
		},
		"TwoWaysToFind": {
			spec: related(secret + ", object: {reference: {path: a}, template: {template: b}}"),
			want: "exactly one of selector, reference and template must be set",
		},
		"NoRewrite": {
			spec: related(secret + ", object: {selector: {matchLabels: {a: b}}}"),
			want: "rewrite: Required",
		},
		"OpenedByAnything": {
			spec: related(secret + `, consumerMayName: {objects: ["$remoteName-[a-z]"]}, ` + byPath),
			want: "consumerMayName.objects[0]",
		},
		"EmptyRewrite": {
			spec: related(secret + ", object: {selector: {matchLabels: {a: b}, rewrite: {}}}"),
			want: "exactly one of regex and template must be set",
		},
		"TwoRewrites": {
			spec: related(secret + `, object: {selector: {matchLabels: {a: b}, rewrite: {regex: {replacement: a}, ` +
				`template: {template: b}}}}`),
			want: "exactly one of regex and template must be set",
		},
		"EmptyWatch": {
			spec: related(secret + ", watch: {}, " + byPath),
			want: "exactly one of byOwner and bySelector must be set",
		},
		"TwoWatches": {
			spec: related(secret + ", watch: {byOwner: {}, bySelector: {}}, " + byPath),
			want: "exactly one of byOwner and bySelector must be set",
		},
		"NoEnabled":        {spec: source + "synchronization: {}", want: "enabled: Required"},
		"AgentName":        {spec: source + "agentName: My.Agent", want: "spec.agentName"},
		"DeletionPolicy":   {spec: source + "deletionPolicy: Keep", want: "Unsupported value"},
		"ManagementAction": {spec: source + "managementPolicies: [Destroy]", want: "Unsupported value"},
		"ExistingObjects":  {spec: source + "existingObjects: Replace", want: "Unsupported value"},
		"ClaimVerbs":       {spec: source + "apiExport: {claimVerbs: Some}", want: "Unsupported value"},
		"EmptyExport":      {spec: source + `apiExport: {name: ""}`, want: "spec.apiExport.name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "refused", tc.spec), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error that contains %q, got: %v", tc.want, err)
			}
		})
	}
}
