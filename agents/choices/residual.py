"""Residual: what is expected of options, corrected by what comes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..options import Options, Outlook
from ..parameters import Interval
from .contract import Array, Choice, Pick, Pull, State

A, S, KAPPA, RATE = range(4)
SD = np.array([0.5, 0.3, 1.0, 0.5])
OMEGA_SD, DELTA_SD, ARM_SD = 0.4, 0.5, 0.5
MAX_EXPECTED = 0.95

class Residual(Choice):
    name: ClassVar[str] = "residual"
    learns: ClassVar[bool] = True
    learns_execution: ClassVar[bool] = True
    needs: ClassVar[frozenset[str]] = frozenset({"features"})

    def __init__(
        self,
        points: Array,
        window: int,
        optimism: Annotated[float, Interval(above=-10, below=1000)] = 0.5,
    ) -> None:
        super().__init__(points, window, optimism=optimism)
        self.optimism = optimism
        self._start(0)

    def equip(self, **artefacts: Any) -> None:
        super().equip(**artefacts)
        self._start(artefacts["features"])

    def _start(self, features: int) -> None:
        self._features = features
        sd = np.concatenate([SD, np.full(features, OMEGA_SD), np.full(features, DELTA_SD)])
        self._precision = 1.0 / sd**2
        self._information = np.zeros((len(sd), len(sd)))
        self._target = np.zeros(len(sd))
        self._arm_information, self._arm_target = np.zeros(self.arms), np.zeros(self.arms)
        self._t = 0
        self._solve()

    def _solve(self) -> None:
        self._covariance = np.linalg.inv(self._information + np.diag(self._precision))
        self._theta = self._covariance @ self._target

    def begin(self, options: Options, random) -> None:
        self._t += 1

    def pick(self, options: Options, random) -> Pick:
        q, e, g, arm_mean, arm_var = self.evaluate(options)
        var = ((g @ self._covariance) * g).sum(axis=1) + arm_var
        best = int((q * (1.0 + self.optimism * np.sqrt(var))).argmax())
        qq = min(q[best], MAX_EXPECTED)
        k = options.arm.item(best)
        offset = g[best] @ self._theta_clipped + arm_mean[best]
        context = np.concatenate([[qq, offset], g[best]]).tobytes()
        return Pick(k, 1.0, min(float(e[best]), 1.0), context)

    def evaluate(self, options):
        M = self._features
        th = self._theta.copy()
        th[S] = min(max(th[S], -0.9), 2.0); th[KAPPA] = min(max(th[KAPPA], -3.0), 4.0)
        omega = th[4:4+M] = np.clip(th[4:4+M], -0.5, 1.2); delta = th[4+M:] = np.clip(th[4+M:], -0.9, 5.0)
        self._theta_clipped = th
        o = options.outlook
        n = len(options)
        g = np.zeros((n, len(th)))
        if o is None:
            L = np.zeros(n); z = np.full(n, th[A]); total = -np.log(np.maximum(options.execution, 1e-9)); ek = math.exp(th[KAPPA])
            p = 1/(1+np.exp(-z)); loge = -ek*total
            g[:, A] = 1-p
        else:
            L = o.log_odds - o.effects @ omega
            z = th[A] + (1+th[S])*L
            p = 1/(1+np.exp(-z))
            ek = math.exp(th[KAPPA])
            eff = o.effort
            total = eff @ (1+delta); loge = -ek*total
            g[:, A] = 1-p; g[:, S] = (1-p)*L
            g[:, 4:4+M] = -((1-p)*(1+th[S]))[:, None]*o.effects
            g[:, 4+M:] = -ek*eff
        g[:, KAPPA] = loge
        g[:, RATE] = 1.0
        k = options.arm
        ai = self._arm_information[k] + 1/ARM_SD**2
        am = self._arm_target[k]/ai if USE_ARMS else np.zeros(n)
        av = 1/ai if USE_ARMS else np.zeros(n)
        e = np.exp(loge)
        q = p*e*np.exp(th[RATE] + am)
        return q, e, g, am, av

    def update(self, pull: Pull, reward: float) -> None:
        if not pull.context: return
        data = np.frombuffer(pull.context)
        q, offset, g = data[0], data[1], data[2:]
        w = q/(1-q)
        score = (reward-q)/(1-q)
        self._information += w*np.outer(g, g)
        self._target += g*(w*(g @ np.zeros(0) if False else 0) ) if False else g*(w*offset_main(data) + score)
        self._solve()

    def retract(self, pull: Pull) -> None: ...
    def state(self): return {"t": np.array(self._t), "information": self._information.copy(), "target": self._target.copy()}
    def restore(self, state): ...
USE_ARMS = False
def offset_main(data): return data[1]
