package naming_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crossplane-contrib/provider-kcp/apis/cluster/publishedresource/v1alpha1"
	"github.com/crossplane-contrib/provider-kcp/internal/naming"
)

// TestOfTemplate shows who decides on what templates yield on the service cluster.
func TestOfTemplate(t *testing.T) {
	const owner, workspace, consumer = naming.Owner, naming.Workspace, naming.Consumer
	for text, tc := range map[string]struct {
		reason string
		want   naming.Who
	}{
		`made`:                        {reason: "A constant is the owner's.", want: owner},
		`made{{/* x */}}`:             {reason: "A comment yields nothing.", want: owner},
		`{{ .ClusterName }}`:          {reason: "No other workspace has the name of the logical cluster.", want: workspace},
		" {{- .ClusterName -}} \n":    {reason: "However it is written.", want: workspace},
		`a-{{ .ClusterName }}`:        {reason: "A constant may stand before it.", want: workspace},
		`a{{ .ClusterName }}b`:        {reason: "And behind it.", want: workspace},
		`{{ .ClusterName }}-{{ .x }}`: {reason: "A value behind a delimiter cannot move it.", want: workspace},
		`a.{{ .ClusterName }}.{{ .x }}-{{ .y }}`: {
			reason: "Nor can several.",
			want:   workspace,
		},
		`{{ .ClusterName }}{{ .x }}`:     {reason: "Without a delimiter nobody knows where it ends.", want: consumer},
		`{{ .ClusterName }}x{{ .x }}`:    {reason: "A letter is no delimiter.", want: consumer},
		`{{ .x }}-{{ .ClusterName }}`:    {reason: "A value before it can be the name of another one.", want: consumer},
		`{{ .x }}`:                       {reason: "A value is the consumer's.", want: consumer},
		`{{ .x | sha3short }}`:           {reason: "So is a hash of it.", want: consumer},
		`{{ .Object.metadata.uid }}`:     {reason: "So is a UID.", want: consumer},
		`{{ .ClusterPath }}`:             {reason: "Another workspace can have the path later.", want: consumer},
		`{{ .ClusterName | trunc 2 }}`:   {reason: "A part of the name says little.", want: consumer},
		`{{ printf "%s" .ClusterName }}`: {reason: "Functions are not followed.", want: consumer},
		`{{ "made" }}`:                   {reason: "Nor are expressions.", want: consumer},
		`{{ $c := .ClusterName }}{{ $c }}`: {
			reason: "Nor variables.",
			want:   consumer,
		},
		`{{ with .ClusterName }}{{ . }}{{ end }}`: {reason: "Nor another dot.", want: consumer},
		`{{ if .x }}a{{ else }}b{{ end }}`: {
			reason: "Who decides on the condition decides between constants.",
			want:   consumer,
		},
		`{{ if eq .Side "kcp" }}{{ .x }}{{ else }}b{{ end }}`: {
			reason: "Only the branch of this side counts.",
			want:   owner,
		},
		"{{ if eq .Side \"service\" }}\n a-{{ .ClusterName }}\n{{ else }}{{ .x }}{{ end }}\n": {
			reason: "Whichever it is.",
			want:   workspace,
		},
		`{{ if eq .Side "kcp" }}a{{ else }}{{ .x }}{{ end }}`: {
			reason: "A constant on the other side does not help.",
			want:   consumer,
		},
		`{{ if eq .Side "kcp" }}a{{ end }}`:           {reason: "No name is nobody's.", want: owner},
		`{{ if eq .Side "kcp" }}{{ end }}{{ .x }}`:    {reason: "Behind it a value counts.", want: consumer},
		`{{ if eq .Side .x }}a{{ else }}b{{ end }}`:   {reason: "A side is a constant.", want: consumer},
		`{{ define "ClusterName" }}{{ end }}{{ .x }}`: {reason: "A definition does not help.", want: consumer},
		`{{ `: {reason: "What is no template is nobody's word.", want: consumer},
	} {
		t.Run(text, func(t *testing.T) {
			if got := naming.OfTemplate(text, "service"); got != tc.want {
				t.Errorf("%s Want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

// TestWho shows which rules for names give copies names and namespaces that no other workspace can have.
func TestWho(t *testing.T) {
	type who struct{ Name, Namespace naming.Who }
	const owner, workspace, consumer = naming.Owner, naming.Workspace, naming.Consumer
	for name, tc := range map[string]struct {
		reason string
		rules  *v1alpha1.ResourceNaming
		scope  v1alpha1.ResourceScope
		want   who
	}{
		"Default": {
			reason: "The default namespace is the workspace's, and the name a hash that others have too.",
			rules:  nil, scope: v1alpha1.ScopeNamespaced,
			want: who{Name: consumer, Namespace: workspace},
		},
		"DefaultWithoutNamespace": {
			reason: "Without a namespace the name has the logical cluster.",
			rules:  nil, scope: v1alpha1.ScopeCluster,
			want: who{Name: workspace, Namespace: consumer},
		},
		"NamespaceUnused": {
			reason: "A namespace that a copy does not have is not the workspace's.",
			rules:  &v1alpha1.ResourceNaming{Namespace: "$remoteClusterName", Name: "$remoteName"},
			scope:  v1alpha1.ScopeCluster,
			want:   who{Name: consumer, Namespace: consumer},
		},
		"Placeholders": {
			reason: "The documented example of api-syncagent keeps workspaces apart by names.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: "kube-system", Name: "$remoteClusterName-$remoteNamespaceHash-$remoteNameHash",
			},
			scope: v1alpha1.ScopeNamespaced,
			want:  who{Name: workspace, Namespace: owner},
		},
		"PlaceholdersMoved": {
			reason: "A value before the logical cluster, or without a delimiter behind it, can be that of another one.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: "$remoteName-$remoteClusterName", Name: "$remoteClusterName$remoteName",
			},
			scope: v1alpha1.ScopeNamespaced,
			want:  who{Name: consumer, Namespace: consumer},
		},
		"PlaceholdersBetween": {
			reason: "Between constants it is the workspace's.",
			rules:  &v1alpha1.ResourceNaming{Namespace: "a-$remoteClusterName-b", Name: "a$remoteClusterNameb"},
			scope:  v1alpha1.ScopeNamespaced,
			want:   who{Name: workspace, Namespace: workspace},
		},
		"Templates": {
			reason: "Templates are known by the same shapes.",
			rules: &v1alpha1.ResourceNaming{
				Namespace: "tenant-{{ .ClusterName }}-{{ .Object.metadata.namespace | sha3short }}", Name: "{{ .ClusterPath }}",
			},
			scope: v1alpha1.ScopeNamespaced,
			want:  who{Name: consumer, Namespace: workspace},
		},
		"Side": {
			reason: "Names of copies have no side.",
			rules:  &v1alpha1.ResourceNaming{Namespace: `{{ if eq .Side "service" }}a{{ else }}{{ .Object.x }}{{ end }}`},
			scope:  v1alpha1.ScopeNamespaced,
			want:   who{Name: consumer, Namespace: consumer},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := naming.New(tc.rules, tc.scope)
			if err != nil {
				t.Fatal(err)
			}
			got := who{}
			got.Name, got.Namespace = n.Who()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
