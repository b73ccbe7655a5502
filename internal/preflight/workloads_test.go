package preflight

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
	"k8s.io/client-go/rest"
)

// nowhere is a control plane that is not asked.
var nowhere = &rest.Config{Host: "https://127.0.0.1:1"}

const formerDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: peer, namespace: crossplane-system}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - {name: sidecar, image: "example.org/changelogs-sidecar:v0.0.1", args: [--not-ours]}
        - {name: package-runtime, image: "registry.example.org:5000/mirror/provider-kubernetes:v1.3.1"}
`

func TestJudgeWorkloads(t *testing.T) {
	const (
		ourDeployment = `{metadata: {name: kcp}, spec: {template: {spec: {containers: ` +
			`[{name: package-runtime, image: "example.org/provider-kcp:v0.1.0"}]}}}}`
		owned = "metadata: {ownerReferences: " +
			"[{apiVersion: pkg.crossplane.io/v1, kind: ProviderRevision, name: r, uid: u}]}"
		stop = "kubectl scale deployment peer -n crossplane-system --replicas=0"
		at   = "crossplane-system/peer"
	)
	none := []Finding{{
		Effect: Kept, What: "Deployment of provider-kubernetes",
		Why: "none is on this control plane: stop it where it runs",
	}}
	runs := []Finding{one(at, refused("Deployment of provider-kubernetes that runs", "both would write in turn", stop))}
	for name, tc := range map[string]struct {
		reason      string
		deployments []string // laid over the former one, each
		want        []Finding
	}{
		"None": {
			reason: "None here is not none anywhere.",
			want:   none,
		},
		"Runs": {
			reason:      "One that runs is to be stopped.",
			deployments: []string{""},
			want:        runs,
		},
		"Program": {
			reason: "It is known by its program, too.",
			deployments: []string{`spec: {template: {spec: {containers: [{name: x, image: "example.org/kubernetes:1", ` +
				`command: [/usr/local/bin/crossplane-kubernetes-provider]}]}}}`},
			want: runs,
		},
		"Other": {
			reason:      "Other Deployments are nobody's business.",
			deployments: []string{`spec: {template: {spec: {containers: [{name: x, image: "example.org/provider-helm:1"}]}}}`},
			want:        none,
		},
		"Stopped": {
			reason:      "One without replicas is stopped.",
			deployments: []string{"spec: {replicas: 0}"},
			want:        []Finding{one(at, kept("Deployment of provider-kubernetes that is stopped"))},
		},
		"Stopping": {
			reason:      "One whose pods are still there runs.",
			deployments: []string{"{spec: {replicas: 0}, status: {replicas: 1}}"},
			want:        runs,
		},
		"OfCrossplane": {
			reason:      "Crossplane stops what it has started.",
			deployments: []string{owned},
			want: []Finding{{
				Effect: Kept, What: "Deployment of provider-kubernetes that Crossplane runs", Count: 1, Names: []string{at},
				Why: "Crossplane stops it when you change spec.package of the Provider",
			}},
		},
		"Both": {
			reason:      "It does not if the other was installed beside it.",
			deployments: []string{owned, ourDeployment},
			want: []Finding{one(at, refused("Deployment of provider-kubernetes that runs beside this provider",
				"both would write in turn", "stop one of them: "+stop))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkloads()
			for _, d := range tc.deployments {
				if err := w.addDeployment(ProviderKubernetes, read(t, formerDeployment, d)); err != nil {
					t.Fatal(err)
				}
			}
			tally := newTally()
			w.judge(tally, ProviderKubernetes)
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestJudgeFlags(t *testing.T) {
	check := func(args, env []string) (map[string]string, error) {
		noEffect := map[string]string{}
		if slices.Contains(args, "--void") || slices.Contains(env, "VOID") {
			noEffect["--void"] = "it is void"
		}
		if slices.Contains(args, "--not-ours") {
			return noEffect, errors.New("unknown long flag '--not-ours'")
		}
		return noEffect, nil
	}
	const config = `
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata: {name: peer}
spec: {deploymentTemplate: {spec: {selector: {}, template: {spec: {
  containers: [{name: package-runtime, args: [--not-ours]}]}}}}}
`
	provider := func(of string) string {
		return "{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: p}, spec: {package: " + of +
			", runtimeConfigRef: {name: peer}}}"
	}
	void := func(where string) Finding {
		return one(where, differs("flag --void without effect", "it is void"))
	}
	const (
		former = "xpkg.crossplane.io/crossplane-contrib/provider-kubernetes:v1.3.1"
		named  = "spec: {serviceAccountTemplate: {metadata: {name: peer}}}"
	)
	notOurs := one("DeploymentRuntimeConfig peer", refused("flags that this provider does not start with",
		"unknown long flag '--not-ours'", "take the flag out: docs/configuration.md"))
	for name, tc := range map[string]struct {
		reason     string
		deployment string // laid over the former one
		provider   string
		config     string // laid over the DeploymentRuntimeConfig
		unread     bool   // the DeploymentRuntimeConfig
		want       []Finding
	}{
		"Sidecar": {reason: "Flags of another program do not count.", want: []Finding{}},
		"Flag": {
			reason: "A flag without effect is said.",
			deployment: `spec: {template: {spec: {containers: ` +
				`[{name: x, image: "example.org/provider-kubernetes", args: [--void]}]}}}`,
			want: []Finding{void("Deployment crossplane-system/peer")},
		},
		"Command": {
			reason:     "So is one in the command.",
			deployment: `spec: {template: {spec: {containers: [{name: x, command: [crossplane-kubernetes-provider, --void]}]}}}`,
			want:       []Finding{void("Deployment crossplane-system/peer")},
		},
		"Variable": {
			reason: "So is a variable.",
			deployment: `spec: {template: {spec: {containers: ` +
				`[{name: x, image: "example.org/provider-kubernetes", env: [{name: VOID}]}]}}}`,
			want: []Finding{void("Deployment crossplane-system/peer")},
		},
		"RuntimeConfig": {
			reason:   "A DeploymentRuntimeConfig that a Provider names is kept, and so are its flags.",
			provider: provider(former), config: named,
			want: []Finding{notOurs},
		},
		"Account": {
			reason:   "Without a name for the ServiceAccount the new package has another one.",
			provider: provider(former),
			want: []Finding{one("peer", refused("ServiceAccount that the DeploymentRuntimeConfig does not name",
				"Crossplane names it after the package, and what was bound to the former name is lost",
				"name the present ServiceAccount in it: docs/migrate-from-provider-kubernetes.md")), notOurs},
		},
		"AccountOfPods": {
			reason:   "One that is named for the pods stays, too.",
			provider: provider(former),
			config:   "spec: {deploymentTemplate: {spec: {template: {spec: {serviceAccountName: peer}}}}}",
			want:     []Finding{notOurs},
		},
		"UnreadRuntimeConfig": {
			reason:   "Of one that cannot be read nothing is said here.",
			provider: provider(former), unread: true,
			want: []Finding{},
		},
		"RuntimeConfigOfAnother": {
			reason:   "That of another Provider is not looked at.",
			provider: provider("xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.0.0"),
			want:     []Finding{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkloads()
			if err := w.addDeployment(ProviderKubernetes, read(t, formerDeployment, tc.deployment)); err != nil {
				t.Fatal(err)
			}
			if tc.provider != "" {
				w.addPackage(ProviderKubernetes, read(t, tc.provider))
			}
			if !tc.unread {
				if err := w.addRuntime(read(t, config, tc.config)); err != nil {
					t.Fatal(err)
				}
			}
			tally := newTally()
			w.judgeFlags(tally, check)
			if diff := cmp.Diff(tc.want, tallied(tally)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
