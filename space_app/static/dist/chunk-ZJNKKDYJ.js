import{d as a,e as b}from"./chunk-3RL5GRWR.js";export{b as parsePayload,a as readColumns};
