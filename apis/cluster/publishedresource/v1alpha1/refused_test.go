package v1alpha1_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestRefused shows that what can only fail is refused when it is applied.
func TestRefused(t *testing.T) {
	c := prepared(t)
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"NoResource": {
			reason: "There is nothing to publish.",
			spec:   "naming: {name: x}",
			want:   "spec.resource: Required",
		},
		"NoGroup": {
			reason: "The core group is said explicitly.",
			spec:   "resource: {kind: C}",
			want:   "apiGroup: Required",
		},
		"NoKind": {
			reason: "A kind is needed.",
			spec:   `resource: {apiGroup: a.b, kind: ""}`,
			want:   "spec.resource.kind",
		},
		"VersionAndVersions": {
			reason: "The agent only fails when it runs.",
			spec:   "resource: {apiGroup: a.b, kind: C, version: v1, versions: [v1]}",
			want:   "version and versions cannot both be set",
		},
		"ProjectedBoth": {
			reason: "The agent ignores one of them.",
			spec:   projection("version: v1, versions: {v1: v2}"),
			want:   "version and versions cannot both be set",
		},
		"OneNameForSeveral": {
			reason: "Several versions cannot get one name.",
			spec:   "resource: {apiGroup: a.b, kind: C, versions: [v1, v2]}\nprojection: {version: v3}",
			want:   "projection.version can only be set if one version is published",
		},
		"SameVersionName": {
			reason: "Names of versions are unique.",
			spec:   projection("versions: {v1: v3, v2: v3}"),
			want:   "no two versions can have the same name in kcp",
		},
		"VersionName": {
			reason: "kcp serves versions with Kubernetes names only.",
			spec:   projection("versions: {stable: stable}"),
			want:   "spec.projection.versions",
		},
		"SingleVersionName": {
			reason: "kcp serves versions with Kubernetes names only.",
			spec:   projection("version: v0"),
			want:   "spec.projection.version",
		},
		"GroupWithoutDot": {
			reason: "A group in kcp has a dot.",
			spec:   projection("group: certs"),
			want:   "spec.projection.group",
		},
		"KindWithSpace": {reason: "A kind is a name.", spec: projection("kind: A B"), want: "spec.projection.kind"},
		"PluralWithDot": {
			reason: "A plural is a name.",
			spec:   projection("plural: a.b"),
			want:   "spec.projection.plural",
		},
		"Scope": {
			reason: "There are two scopes.",
			spec:   projection("scope: Both"),
			want:   "Unsupported value",
		},
		"CrossplaneField": {
			reason: "Only fields that Crossplane has can be shown.",
			spec:   projection("crossplaneFields: [compositionReference]"),
			want:   "Unsupported value",
		},
		"ShortName": {
			reason: "Short names are in lower case.",
			spec:   projection("shortNames: [Certs]"),
			want:   "spec.projection.shortNames",
		},
		"Category": {
			reason: "Categories are in lower case.",
			spec:   projection("categories: [All]"),
			want:   "spec.projection.categories",
		},
		"EmptyStep": {
			reason: "A step that does nothing is a mistake.",
			spec:   step(""),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"TwoInOneStep": {
			reason: "The agent does one and ignores the other.",
			spec:   step("delete: {path: a}, regex: {path: a}"),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"TwoInOneStatusStep": {
			reason: "Steps of status are steps.",
			spec:   source + "mutation: {status: [{delete: {path: a}, template: {path: a, template: b}}]}",
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"NoPath":    {reason: "A step changes something.", spec: step("delete: {}"), want: "path: Required"},
		"EmptyPath": {reason: "A path names something.", spec: step(`delete: {path: ""}`), want: "path"},
		"NoTemplate": {
			reason: "A template is needed.",
			spec:   step("template: {path: a}"),
			want:   "template: Required",
		},
		"NoExpression": {
			reason: "An expression is needed.",
			spec:   step(`cel: {path: a, expression: ""}`),
			want:   "expression",
		},
		"LongExpression": {
			reason: "An expression is no longer than what can be compiled.",
			spec:   step(`cel: {path: a, expression: "` + strings.Repeat("1+", 5000) + `1"}`),
			want:   "expression",
		},
		"Pattern": {
			reason: "A pattern must be a regular expression.",
			spec:   step(`regex: {path: a, pattern: "("}`),
			want:   "missing closing )",
		},
		"ReferencePattern": {
			reason: "A pattern must be a regular expression.",
			spec:   related(secret + `, object: {reference: {path: a, regex: {pattern: "["}}}`),
			want:   "missing closing ]",
		},
		"DuplicateIdentifier": {
			reason: "An identifier is a key.",
			spec:   source + "related: [{" + secret + "," + byPath + "},{" + secret + "," + byPath + "}]",
			want:   "each identifier must be unique",
		},
		"DuplicateDefault": {
			reason: "A default identifier is a key, too.",
			spec: source + "related: [{origin: kcp, kind: Secret, reference: {name: {path: a}}}," +
				"{identifier: secret, origin: service, kind: Secret, " + byPath + "}]",
			want: "each identifier must be unique",
		},
		"NoIdentifier": {
			reason: "Only the oldest form has none.",
			spec:   related("origin: service, kind: Secret, " + byPath),
			want:   "identifier must be set",
		},
		"Identifier": {
			reason: "An identifier is part of an annotation's key.",
			spec:   related("identifier: a/b, origin: service, kind: Secret, " + byPath),
			want:   "identifier",
		},
		"LongIdentifier": {
			reason: "It is part of an annotation's key, with a number.",
			spec:   related("identifier: " + strings.Repeat("a", 62) + ", origin: service, kind: Secret, " + byPath),
			want:   "identifier can have 61 characters with origin service",
		},
		"LongKind": {
			reason: "The list kind is as long as a name can be.",
			spec:   projection("kind: " + strings.Repeat("A", 60)),
			want:   "spec.projection.kind",
		},
		"LongGroup": {
			reason: "The name of the schema is as long as a name can be.",
			spec:   projection("group: " + strings.Repeat("a.", 89) + "aa"),
			want:   "spec.projection.group",
		},
		"Origin": {
			reason: "There are two sides.",
			spec:   related("identifier: a, origin: moon, kind: Secret, " + byPath),
			want:   "Unsupported value",
		},
		"NoOrigin": {
			reason: "An origin is needed.",
			spec:   related("identifier: a, kind: Secret, " + byPath),
			want:   "origin: Required",
		},
		"Kind": {
			reason: "kind can only say two.",
			spec:   related("identifier: a, origin: kcp, kind: Pod, " + byPath),
			want:   "Unsupported value",
		},
		"NeitherKindNorResource": {
			reason: "Something must be named.",
			spec:   related("identifier: a, origin: kcp, " + byPath),
			want:   "either kind or version and resource must be set",
		},
		"KindAndResource": {
			reason: "Only one thing can be named.",
			spec:   related("identifier: a, origin: kcp, kind: Secret, version: v1, resource: secrets, " + byPath),
			want:   "either kind or version and resource must be set",
		},
		"ResourceAlone": {
			reason: "A resource has a version.",
			spec:   related("identifier: a, origin: kcp, resource: secrets, " + byPath),
			want:   "version and resource must be set together",
		},
		"GroupAlone": {
			reason: "A group is not a resource.",
			spec:   related("identifier: a, origin: kcp, kind: Secret, group: g.io, " + byPath),
			want:   "group can only be set beside version and resource",
		},
		"IdentityOfCore": {
			reason: "Built-in resources have no identity.",
			spec:   related("identifier: a, origin: kcp, version: v1, resource: secrets, identityHash: abc, " + byPath),
			want:   "identityHash can only be set beside",
		},
		"NoObject": {
			reason: "Objects must be found somehow.",
			spec:   related(secret),
			want:   "exactly one of object and reference must be set",
		},
		"ObjectAndReference": {
			reason: "Two forms of one thing.",
			spec:   related(secret + ", reference: {name: {path: a}}, " + byPath),
			want:   "exactly one of object and reference must be set",
		},
		"EmptyObject": {
			reason: "Objects must be found somehow.",
			spec:   related(secret + ", object: {}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"TwoWaysToFind": {
			reason: "Objects are found in one way.",
			spec:   related(secret + ", object: {reference: {path: a}, template: {template: b}}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"EmptyNamespace": {
			reason: "Namespaces must be found somehow.",
			spec:   related(secret + ", object: {reference: {path: a}, namespace: {}}"),
			want:   "exactly one of selector, reference and template must be set",
		},
		"TwoWaysToFindNamespace": {
			reason: "Namespaces are found in one way.",
			spec: related(secret + ", object: {reference: {path: a}, namespace: {reference: {path: a}, " +
				"template: {template: b}}}"),
			want: "exactly one of selector, reference and template must be set",
		},
		"NoRewrite": {
			reason: "Names must not leak.",
			spec:   related(secret + ", object: {selector: {matchLabels: {a: b}}}"),
			want:   "rewrite: Required",
		},
		"OpenedByAnything": {
			reason: "Only * and the logical cluster stand for something else.",
			spec:   related(secret + `, consumerMayName: {objects: ["$remoteName-[a-z]"]}, ` + byPath),
			want:   "consumerMayName.objects[0]",
		},
		"EmptyRewrite": {
			reason: "Names must not leak.",
			spec:   related(secret + ", object: {selector: {matchLabels: {a: b}, rewrite: {}}}"),
			want:   "exactly one of regex and template must be set",
		},
		"TwoRewrites": {
			reason: "A rewrite is a regular expression or a template, never both.",
			spec: related(secret + `, object: {selector: {matchLabels: {a: b}, rewrite: {regex: {replacement: a}, ` +
				`template: {template: b}}}}`),
			want: "exactly one of regex and template must be set",
		},
		"EmptyWatch": {
			reason: "A watch needs a way back.",
			spec:   related(secret + ", watch: {}, " + byPath),
			want:   "exactly one of byOwner and bySelector must be set",
		},
		"TwoWatches": {
			reason: "There is one way back.",
			spec:   related(secret + ", watch: {byOwner: {}, bySelector: {}}, " + byPath),
			want:   "exactly one of byOwner and bySelector must be set",
		},
		"RelatedTwoInOneStep": {
			reason: "Steps of related resources are steps.",
			spec:   related(secret + ", mutation: {spec: [{delete: {path: a}, regex: {path: a}}]}, " + byPath),
			want:   "exactly one of delete, regex, template and cel must be set",
		},
		"NoEnabled": {
			reason: "It must be said whether objects are synced.",
			spec:   source + "synchronization: {}",
			want:   "enabled: Required",
		},
		"AgentName": {
			reason: "An agent's name is the value of a label.",
			spec:   source + "agentName: My.Agent",
			want:   "spec.agentName",
		},
		"DeletionPolicy": {
			reason: "There are two policies.",
			spec:   source + "deletionPolicy: Keep",
			want:   "Unsupported value",
		},
		"ManagementAction": {
			reason: "There are six actions.",
			spec:   source + "managementPolicies: [Destroy]",
			want:   "Unsupported value",
		},
		"ExistingObjects": {
			reason: "There are three policies.",
			spec:   source + "existingObjects: Replace",
			want:   "Unsupported value",
		},
		"ClaimVerbs": {
			reason: "There are two ways to claim.",
			spec:   source + "apiExport: {claimVerbs: Some}",
			want:   "Unsupported value",
		},
		"EmptyExport": {
			reason: "A name is not empty.",
			spec:   source + `apiExport: {name: ""}`,
			want:   "spec.apiExport.name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Create(t.Context(), published(t, "refused", tc.spec), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error that contains %q, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}
