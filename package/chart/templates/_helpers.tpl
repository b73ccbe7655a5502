{{/* The name that names of resources begin with. */}}
{{- define "provider-kcp.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "provider-kcp.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "provider-kcp.fullname" .) -}}
{{- end -}}

{{- define "provider-kcp.stateNamespace" -}}
{{- .Values.publishing.stateNamespace | default .Release.Namespace -}}
{{- end -}}

{{- define "provider-kcp.selectorLabels" -}}
app.kubernetes.io/name: provider-kcp
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "provider-kcp.labels" -}}
{{ include "provider-kcp.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* Who the rights of the chart are bound to. */}}
{{- define "provider-kcp.subjects" -}}
- kind: ServiceAccount
  namespace: {{ .Release.Namespace }}
  name: {{ include "provider-kcp.serviceAccountName" . }}
{{- end -}}

{{- define "provider-kcp.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The flags that values set, as a list. */}}
{{- define "provider-kcp.args" -}}
{{- if .Values.leaderElection.enabled }}
- --leader-election
- --leader-election-lease-duration={{ .Values.leaderElection.leaseDuration }}
- --leader-election-renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --leader-election-retry-period={{ .Values.leaderElection.retryPeriod }}
{{- if gt (int .Values.shards) 1 }}
- --shards={{ .Values.shards }}
{{- end }}
{{- end }}
- --state-namespace={{ include "provider-kcp.stateNamespace" . }}
{{- with .Values.publishing.selector }}
- {{ printf "--published-resource-selector=%s" . | quote }}
{{- end }}
{{- if .Values.tenancy.restrictClusterProviderConfigs }}
- --restrict-cluster-provider-configs
{{- end }}
- --log-format={{ .Values.log.format }}
{{- if .Values.log.debug }}
- --debug
{{- end }}
{{- if not .Values.metrics.enabled }}
- --metrics-bind-address=0
{{- end }}
{{- end -}}

{{/* Values that fit the schema, but not each other. */}}
{{- define "provider-kcp.validate" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "replicas: more than one needs leaderElection.enabled" -}}
{{- end -}}
{{- if and (gt (int .Values.shards) 1) (gt (int .Values.shards) (int .Values.replicas)) -}}
{{- fail "shards: needs as many replicas" -}}
{{- end -}}
{{- if and .Values.metrics.service.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.service.enabled: needs metrics.enabled" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled: needs metrics.service.enabled" -}}
{{- end -}}
{{- if and .Values.metrics.podMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.podMonitor.enabled: needs metrics.enabled" -}}
{{- end -}}
{{- $values := dict "leader-election" "leaderElection" "shards" "shards" "state-namespace" "publishing.stateNamespace" "published-resource-selector" "publishing.selector" "restrict-cluster-provider-configs" "tenancy.restrictClusterProviderConfigs" "log-format" "log.format" "debug" "log.debug" "metrics-bind-address" "metrics.enabled" "health-probe-bind-addr" "" -}}
{{- range .Values.extraArgs -}}
{{- $flag := regexReplaceAll "^--(no-)?(leader-election|[a-z-]+).*$" . "${2}" -}}
{{- if eq $flag "health-probe-bind-addr" -}}
{{- fail (printf "extraArgs: %s: the probes of the pod need the default address" .) -}}
{{- end -}}
{{- with get $values $flag -}}
{{- fail (printf "extraArgs: --%s is set by the value %s" $flag .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
